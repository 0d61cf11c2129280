#!/bin/sh
# The first process of a Linux that is a process itself: it measures, and halts.
#   init.sh FOLDER   runs FOLDER/command.sh there, and writes its exit code into FOLDER/code
set -e
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /run
ip link set lo up
mkdir -p /run/modules/lib
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in veth bridge sch_tbf sch_netem sch_codel sch_fq_codel sch_pie; do
    # a kernel that was built for this has them inside
    modprobe --quiet --dirname /run/modules $module || true
done
cd "$1"
code=0
sh ./command.sh || code=$?
echo $code > code
sync
halt -f
