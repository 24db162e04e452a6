// Command pause is the process that holds a pod's namespaces open: it sleeps,
// reaps the orphans that a shared PID namespace hands to its first process, and
// leaves on SIGTERM or SIGINT.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		// Signals coalesce: one SIGCHLD may stand for several children.
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || (err != nil && err != syscall.EINTR) {
				break
			}
		}
	}
}
