"""The container of packaging/container, with podman, on a base image that is imported from a bare machine's files."""
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import bare

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ("localhost/belljar-test-base", "localhost/belljar-test")
# crun refuses hosts that have both versions of cgroups mounted: one of them is hidden from podman, and from it alone.
ALONE = "for m in $(awk '$3 == \"cgroup2\" && $2 ~ /unified/ { print $2 }' /proc/mounts); do umount $m; done; exec \"$@\""


def podman(*words, check=True):
    command = ["unshare", "--mount", "--propagation=private", "sh", "-c", ALONE, "sh", "podman", *map(str, words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=1800)
    if check and done.returncode != 0:
        raise AssertionError(f"podman {words[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done


def limits():
    """podman would raise the limits of the caller, which not every root may."""
    files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 65536)
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=4096:4096"]


def import_base(suite):
    tar = subprocess.Popen(["tar", "-C", bare.base(suite), "-c", "."], stdout=subprocess.PIPE)
    made = subprocess.run(["podman", "import", "-q", "-", IMAGES[0]], stdin=tar.stdout, capture_output=True, text=True, check=False)
    tar.stdout.close()
    assert tar.wait() == 0 and made.returncode == 0, made.stderr[-2000:]


def build(deb):
    with tempfile.TemporaryDirectory(prefix="belljar-container-") as context:
        (Path(context) / "dist").mkdir()
        shutil.copy(deb, Path(context) / "dist")
        shutil.copytree(ROOT / "packaging/container", Path(context) / "packaging/container")
        podman("build", "--network=host", "--isolation=chroot", *limits(), "--build-arg", f"BASE={IMAGES[0]}", "--build-arg", "PACKAGES=",
               "-f", f"{context}/packaging/container/Containerfile", "-t", IMAGES[1], context)  # fmt: skip


def run(options, *words):
    """`belljar WORDS` in a container as compose.yaml describes it, with more options."""
    return podman("run", "--rm", "--network=none", "--cgroups=disabled", *limits(), "--cap-drop=all", "--read-only", "--tmpfs=/tmp", "--tmpfs=/run",
                  "--security-opt=no-new-privileges", *options, IMAGES[1], *words, check=False)  # fmt: skip


def test(deb, suite):
    if not shutil.which("podman"):
        raise bare.Unavailable("podman is not installed")
    allowed = ["--security-opt=unmask=ALL", f"--security-opt=seccomp={ROOT}/packaging/container/seccomp.json"]
    try:
        import_base(suite)
        build(deb)
        plain = run([], "run", "-c", "print(6 * 7)")
        assert plain.returncode == 125 and "hint: " in plain.stdout and "42" not in plain.stdout, plain
        whole = run(allowed, "run", "-c", "print(6 * 7)")
        assert (whole.returncode, whole.stdout) == (0, "42\n"), whole
        doctor = run(allowed, "doctor")
        assert doctor.returncode == 0 and "grade D" not in doctor.stdout, doctor
        # The weaker level is never taken by itself, only where it is chosen.
        weaker = run(["--env=BELLJAR_ISOLATION=process"], "run", "-c", "print(6 * 7)")
        assert (weaker.returncode, weaker.stdout.splitlines()[-1]) == (0, "42"), weaker
    finally:
        for image in reversed(IMAGES):
            podman("rmi", "-f", image, check=False)
