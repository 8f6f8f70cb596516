#!/usr/bin/python3
"""run.py BUILD [COMMAND...]: the tests that want cgroup v2 and an older kernel, in a machine of QEMU.

The machine runs Debian's kernel, sees the host's files read only, and keeps what it writes in memory. Its tests are in
guest.py. The last line is "N passed, N failed"; the exit status is 0 only when nothing failed and the machine got to the
end. With a COMMAND the machine runs that instead.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from guest import UNIT_TESTS

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "vm"

# Modules that the machine loads, with their dependencies.
MODULES = ["virtio_pci", "virtio_blk", "9pnet_virtio", "9p", "overlay", "crc32c_generic", "ext4"]

# The whole. Without KVM every instruction is translated: the tests alone take minutes.
LIMIT_SECONDS = 1800

DISK_BYTES = 256 << 20


def fail(text):
    print(f"test-vm: {text}", file=sys.stderr)
    sys.exit(1)


def find_kernel():
    """The newest kernel with its modules: (image, modules)."""
    found = []
    for modules in Path("/lib/modules").glob("*"):
        image = Path("/boot") / f"vmlinuz-{modules.name}"
        if image.exists() and (modules / "modules.dep").exists():
            found.append(([int(n) for n in re.findall(r"\d+", modules.name)], image, modules))
    if not found:
        fail("no kernel in /boot: install linux-image-amd64")
    _, image, modules = max(found)
    if not os.access(image, os.R_OK):
        fail(f"{image} cannot be read")
    return image, modules


def module_files(modules):
    """The module files in the order of loading; built-in ones have none."""
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        file, _, rest = line.partition(":")
        needs[file] = rest.split()
    by_name = {Path(file).name.partition(".")[0].replace("-", "_"): file for file in needs}
    builtin = {Path(file).name.partition(".")[0].replace("-", "_") for file in (modules / "modules.builtin").read_text().split()}
    order = []
    for name in MODULES:
        file = by_name.get(name)
        if not file:
            if name not in builtin:
                fail(f"{modules} has no module {name}")
            continue
        # modules.dep names the nearest need first.
        for part in [*reversed(needs[file]), file]:
            if part not in order:
                order.append(part)
    return [modules / file for file in order]


def make_initramfs(directory, modules, command):
    root = directory / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "modules"):
        (root / name).mkdir(parents=True)
    shutil.copy2("/bin/busybox", root / "bin" / "busybox")
    shutil.copy2(HERE / "init", root / "init")
    order = []
    for file in module_files(modules):
        shutil.copy2(file, root / "modules" / file.name)
        order.append(f"/modules/{file.name}\n")
    (root / "modules.order").write_text("".join(order))
    (root / "main").write_text(f"{HERE / 'main'}\n")
    (root / "command").write_text("".join(f"{word}\n" for word in command))
    names = "\n".join(sorted(str(path.relative_to(root)) for path in root.rglob("*"))) + "\n"
    image = directory / "initramfs"
    with image.open("wb") as out:
        subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], input=names.encode(), stdout=out, cwd=root, check=True
        )
    return image


def start(kernel, initramfs, disk):
    return subprocess.Popen(
        [
            "qemu-system-x86_64", "-M", "pc,accel=tcg", "-cpu", "max", "-smp", "2", "-m", "2048",
            "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio", "-monitor", "none",
            "-kernel", kernel, "-initrd", initramfs,
            "-append", "console=ttyS0 loglevel=1 edd=off panic=-1 random.trust_cpu=on mitigations=off",
            "-device", "virtio-rng-pci",
            "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe",
            "-virtfs", "local,path=/,security_model=none,readonly=on,mount_tag=host,multidevs=remap",
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip


def follow(machine):
    """Shows what the machine prints; returns (passed, failed) or None, and whether it got to its end."""
    count, is_complete = None, False
    for line in machine.stdout:
        # The firmware clears the screen; progress on one line is only noise here.
        line = re.sub(r"\x1b(c|\[[0-9;?]*[a-zA-Z])|\r", "", line).rstrip()
        if re.match(r"SeaBIOS|Booting from ROM|bringing up nodes", line) or not line:
            continue
        numbers = re.match(r"vm: (\d+) passed, (\d+) failed$", line)
        if numbers:
            count = int(numbers[1]), int(numbers[2])
        elif re.match(r"vm: tests ended with status \d+$", line):
            is_complete = line.endswith(" 0") or count is not None
        else:
            print(line, flush=True)
    return count, is_complete


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 64
    build = Path(arguments[0]).resolve()
    command = arguments[1:] or ["/usr/bin/python3", HERE / "guest.py", build]
    if not arguments[1:]:
        # Not part of an ordinary build.
        subprocess.run(["ninja", "-C", build, "--quiet", *{f"tests/unit/{name.split()[0]}" for name in UNIT_TESTS}], check=True)
    directory = build / "vm"
    directory.mkdir(exist_ok=True)
    kernel, modules = find_kernel()
    print(f"booting {kernel.name} in QEMU, without KVM; at most {LIMIT_SECONDS // 60} minutes", flush=True)
    initramfs = make_initramfs(directory, modules, command)
    disk = directory / "disk"
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)

    machine = start(kernel, initramfs, disk)
    signal.signal(signal.SIGALRM, lambda *_: machine.kill())
    signal.alarm(LIMIT_SECONDS)
    try:
        count, is_complete = follow(machine)
    finally:
        machine.kill()
        machine.wait()
        disk.unlink()
    passed, failed = count or (0, 0)
    if not is_complete or (not count and not arguments[1:]):
        print("the machine did not get to the end of its tests")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
