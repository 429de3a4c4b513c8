"""Programs that are asked the same again and again, and run once for each question.

A server that loads its workspace anew asks a compiler a dozen things of which all but one or two depend on
the toolchain alone. A script in the compiler's place keeps what was printed in a folder, until whoever made
the folder clears it: at a server's start, as no toolchain changes in a server's life without its end.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

_FOLDERS = "/usr/bin:/bin"
_NEEDED = ("cat", "mkdir", "mv")

# An answer is passed on from memory, and its status is written last: what a full disk or a kill left
# unfinished is asked for again, and so is what was killed or not there. Of a program that fails by itself the
# errors are told once, its status each time.
_SCRIPT = """#!/bin/sh
real={real}
{before}
case " $* " in {questions}) ;; *) exec "$real" "$@" ;; esac
at={answers}/${{0##*/}} over=
for word in "bootstrap$RUSTC_BOOTSTRAP" "$@"; do
    # These would be other names for the same folder, or be taken for what separates two words.
    case $word/ in / | *//* | */./* | */../* | */=*) exec "$real" "$@" ;; esac
    [ "$over" ] || at=$at/=$word/=
    case $word in {passed_over}) over=1 ;; *) over= ;; esac
done
if read -r status 2>/dev/null < "$at/status" && {cat} "$at/printed" 2>/dev/null; then
    exit "$status"
fi
printed=$("$real" "$@"; echo "=$?")
status=${{printed##*=}} printed=${{printed%=*}}
printf %s "$printed"
[ "$status" -lt 126 ] && {{
    {mkdir} -p "$at" && printf %s "$printed" > "$at/printed.$$" && echo "$status" > "$at/status.$$" &&
        {mv} "$at/printed.$$" "$at/printed" && {mv} "$at/status.$$" "$at/status"
}} 2>/dev/null
exit "$status"
"""


def remembering(
    real: Path, answers: Path, questions: str, before: str = "", passed_over: str = "''"
) -> str:
    """The text of a script that stands for `real`.

    It remembers in the folder `answers`, which may go at any time, what `real` prints when asked one of
    `questions`: patterns of sh's `case` over all arguments, with a space before and behind each. All else is
    run. `before` is run first, and may refuse. What follows the word `passed_over` is no part of a question.
    """
    found = {name: shutil.which(name, path=_FOLDERS) for name in _NEEDED}
    tools = {name: shlex.quote(path) for name, path in found.items() if path}
    if len(tools) < len(_NEEDED):
        return f'#!/bin/sh\n{before}\nexec {shlex.quote(str(real))} "$@"\n'
    places = {"real": shlex.quote(str(real)), "answers": shlex.quote(str(answers))}
    given = {"before": before, "questions": questions, "passed_over": passed_over}
    return _SCRIPT.format(**given, **places, **tools)
