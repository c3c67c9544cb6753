"""A solution for people: its error, its domain, how it was made, and u along a variable."""

from feynkac.analysis.partials import Map
from feynkac.analysis.rounding import error_text, number
from feynkac.cards import Card
from feynkac.display import duration
from feynkac.families.family import Family
from feynkac.families.portrait import picture_along, ranges
from feynkac.runs.artifact import Manifest


def solution_card(family: Family, u: Map, manifest: Manifest, component: int | None) -> Card:
    """What there is to say about a solution."""
    last = manifest.history[-1] if manifest.history else {}
    l1 = error_text(*(last.get(name) for name in ("l1", "l1_se", "l1_low", "l1_high")))
    domain, trained = ranges(family.domain.measures), manifest.training_seconds
    time = duration(manifest.seconds)
    time += "" if trained is None else f", of it {duration(trained)} for training"
    made = f"{manifest.steps} steps in {time}; {manifest.parameters} parameters"
    part = "" if component is None else f", output {component} (errors: all outputs together)"
    return Card(
        f"Solution of {family!r}{part}: L1 error {l1}",
        ["; ".join(f"{name} {span}" for name, span in domain.items()), made],
        {
            "L1 error": l1,
            "L2 error": number(last.get("l2")),
            "largest error seen": number(last.get("max")),
            **domain,
            "steps": str(manifest.steps),
            "time": time,
        },
        picture_along(u, family.domain.measures, "u over {}, the rest at its mean"),
        manifest.warnings,
    )
