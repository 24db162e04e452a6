#!/bin/sh
echo "script $0" | sed 's,/.*/,,' > /etc/script
