"""Words that say little: of English, and of the forms that issues are written in (weights: `weights`).

They are as people write them, in lower case, not stems: `used` says nothing, `user` does.
"""

from __future__ import annotations

_STOP = """
    a able about above after again against all already also always am an and another any are aren around as
    at away back be because become becomes been before being below best better between bit both but by came
    can cannot cant cause causes causing certain come comes could couldn currently did didn different do
    does doesn doesnt doing don dont down during each either else enough etc even ever every far few first
    following follows for form from further get gets getting give given go goes going good got great had
    hadn happen happening happens has hasn have haven having he hello her here hers hey hi him his how
    however i if im in instead into is isn isnt it its itself ive just kind know last later least less let
    like likely little ll long longer look looks lot made make makes many may maybe me mean means meant
    might mine more most much must my need needs never new next no nor not nothing now of off often ok old
    on once one only or other our out over own particular per perhaps please possible possibly probably
    problem quite rather re really related right s said same say says second see seem seems seen several she
    should shouldn similar simple simply since so some something sometimes soon start started still such
    supposed sure t take tell tends than thank thanks that the their them then there these they thing things
    think this those though through thus time times to together too took toward tried try trying turn two
    under unless unlike until up upon us use used uses using usually various ve very via want wanted wants
    was wasn way we well were weren what whatever when where whether which while who whole whom whose why
    will with within without won wont work worked working works world worth would wouldn wrong yes yet you
    your yours
"""
_FORM = """
    acceptance actual actually additional alternatives background behavior behaviour break breaks broken bug
    bugs checked checklist component confirm context crash criteria current currently debian describe
    description detail details duplicate encountered environment example examples existing expect expected
    feature fix fixed fixes fixing impact info information issue issues latest linux mac macos minimal
    motivation os output outputs platform priority problem problems proposal propose proposed question
    recently release report reported reporting reproduce reproducible reproduction request requirements
    result results screenshot screenshots searched severity solution step steps summary system title today
    ubuntu upgrade upgraded version versions windows workaround
"""

STOP_WORDS = frozenset(_STOP.split())
FORM_WORDS = frozenset(_FORM.split())
"""Of issues: headings and phrases that templates and habit put there."""
