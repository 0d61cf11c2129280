"""Other people's verifiers of DKIM, each a process that checks all messages of a folder."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from waiting import PATIENCE_S

# Arguments of a script: the folder, then pairs of a selector and its record, so that no name server
# is asked. A script prints a line per signature: the file, the algorithm, and the result.
_DKIMPY = """\
import pathlib, re, sys
import dkim

folder, *pairs = sys.argv[1:]
records = dict(zip(pairs[::2], pairs[1::2]))

def record(name, timeout=None):
    return records[name.decode().split(".")[0]].encode()

for path in sorted(pathlib.Path(folder).iterdir()):
    text = path.read_bytes()
    for number, algorithm in enumerate(re.findall(rb"a=(\\w+-sha256);", text)):
        try:
            result = "pass" if dkim.DKIM(text).verify(number, dnsfunc=record) else "fail"
        except dkim.DKIMException as why:
            result = f"fail {why}"
        print(path.name, algorithm.decode(), result)
"""
_MAIL_DKIM = """\
use strict;
use warnings;
use Mail::DKIM::Verifier;

my ($folder, %records) = @ARGV;
no warnings 'redefine';
*Mail::DKIM::PublicKey::fetch_async = sub {
    my ($class, %wanted) = @_;
    my $key = $class->parse($records{$wanted{Selector}});
    $key->check;
    return sub { $wanted{Callbacks}{Success}->($key) };
};
for my $path (sort glob("$folder/*")) {
    open(my $file, '<:raw', $path) or die "$path: $!";
    my $verifier = Mail::DKIM::Verifier->new;
    while (my $line = <$file>) { $verifier->PRINT($line); }
    $verifier->CLOSE;
    my $name = $path =~ s{.*/}{}r;
    for my $signature ($verifier->signatures) {
        print "$name ", $signature->algorithm, ' ', $signature->result_detail, "\\n";
    }
}
"""
_MAILAUTH = """\
const fs = require('fs');
const { dkimVerify } = require('mailauth/lib/dkim/verify');

const [folder, ...pairs] = process.argv.slice(1);
const records = {};
for (let at = 0; at < pairs.length; at += 2) records[pairs[at]] = pairs[at + 1];
const resolver = async name => [[records[name.split('.')[0]]]];
(async () => {
    for (const file of fs.readdirSync(folder)) {
        const { results } = await dkimVerify(fs.readFileSync(`${folder}/${file}`), { resolver });
        for (const { algo, status } of results)
            console.log(file, algo, status.result, status.comment || '');
    }
})();
"""
TOOLS = Path(__file__).parents[1] / ".tools" / "node_modules"


def _has(*command: str) -> bool:
    """Whether this program is here and succeeds."""
    return (
        shutil.which(command[0]) is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


def dkimpy(_: str) -> list[str]:
    pytest.importorskip("dkim", reason="dkimpy is not installed")
    return [sys.executable, "-c", _DKIMPY]


def mail_dkim(kind: str) -> list[str]:
    """Debian 12 has Mail::DKIM of 2023, which does not know Ed25519."""
    if not _has("perl", f"-MMail::DKIM::Algorithm::{kind}_sha256", "-e", "1"):
        pytest.skip(f"Mail::DKIM is not installed (`make programs` does it) or without {kind}")
    return ["perl", "-e", _MAIL_DKIM]


def mailauth(_: str) -> list[str]:
    if not shutil.which("node") or not (TOOLS / "mailauth").is_dir():
        pytest.skip("mailauth is not installed: `make programs` does it where npm is")
    return ["env", f"NODE_PATH={TOOLS}", "node", "-e", _MAILAUTH]


# Each returns its command for signatures by this kind of key.
VERIFIERS: list[Callable[[str], list[str]]] = [dkimpy, mail_dkim, mailauth]


def verdicts(
    command: list[str], folder: Path, records: dict[str, str], kind: str
) -> dict[str, str]:
    """The result of each file's signature by this kind of key."""
    pairs = [word for pair in records.items() for word in pair]
    done = subprocess.run(
        [*command, folder, *pairs], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" ", 2) for line in done.stdout.splitlines()]
    return {file: result.strip() for file, used, result in rows if used == f"{kind}-sha256"}
