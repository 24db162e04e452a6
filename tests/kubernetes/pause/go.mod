module bessemer.dev/tests/kubernetes/pause

go 1.26.0
