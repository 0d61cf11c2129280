"""What tools/wheels.py refuses of wheels."""

import zipfile

import pytest

import wheels

LIBRARY = b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.%d\0GLIBC_ABI_DT_RELR\0memcpy\0"


@pytest.mark.parametrize(
    ("tag", "minor", "fault"),
    [
        ("manylinux_2_28_x86_64", 28, None),
        ("manylinux_2_28_x86_64", 34, "a/_core.so asks for glibc 2.34"),
        ("linux_x86_64", 17, "expected manylinux_2_28_"),
    ],
)
def test_a_wheel_is_for_the_oldest_glibc(tmp_path, tag, minor, fault):
    wheel = tmp_path / f"a-1-cp311-abi3-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("a/_core.so", LIBRARY % minor)
    assert [*wheels.faults(wheel)] == ([f"{wheel.name}: {fault}"] if fault else [])


def test_no_wheel_is_a_fault(monkeypatch):
    monkeypatch.setattr("sys.argv", ["wheels.py"])
    assert wheels.main() == 1
