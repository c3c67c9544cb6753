"""Data frames as inputs: a column per variable, or per entry of one (`x[0]`, `x[1]`).

Rows stay where they are, whatever the index; columns that name no variable are not looked at.

Narwhals reads and writes frames of pandas, polars, pyarrow and others alike. It keeps the index of
pandas, which neither Arrow's interface nor the interchange protocol has, and needs nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from feynkac.errors import InputError
from feynkac.families.columns import Numbers, read_column, row_text
from feynkac.families.domain import Domain
from feynkac.families.names import labels, parse_name
from feynkac.suggestions import did_you_mean

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True)
class Frame:
    """A data frame of any library.

    Example:
        >>> import pandas
        >>> from feynkac.families.models.black_scholes import BlackScholes
        >>> frame = Frame.of(pandas.DataFrame({"x": [9.5], "t": [0.5], "note": ["a"]}))
        >>> sorted(frame.values(BlackScholes().domain, {"sigma": 0.3, "strike": 11.0}))
        ['sigma', 'strike', 't', 'x']
    """

    rows: "nw.DataFrame[Any]"

    @classmethod
    def of(cls, native: Any) -> Self | None:
        """The frame; None for a mapping, or for nothing.

        Raises:
            InputError: it is neither.
        """
        if native is None or isinstance(native, Mapping):
            return None
        import narwhals as nw  # only who gives a frame waits for it

        try:
            found = nw.from_native(native, eager_only=True, pass_through=True)
        except ValueError as error:  # a name twice
            raise InputError(f"this data frame cannot be read: {error}.") from error
        if not isinstance(found, nw.DataFrame):
            lazy = isinstance(nw.from_native(native, pass_through=True), nw.LazyFrame)
            raise InputError(
                "variables are given as keywords, as one mapping by name, as in {'x': 9.5, "
                f"'t': 0.5}}, or as a data frame; got {type(native).__name__}"
                + ("; collect it first." if lazy else ".")
            )
        return cls(found)

    def values(self, domain: Domain, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name: columns of variables, and keywords for all rows.

        Raises:
            InputError: a column is missing, or a cell is no number.
        """
        columns = [name for name in self._names() if parse_name(name)[0] in domain.measures]
        self._require_all(domain, columns, keywords)
        found: dict[str, Any] = {}
        for name in columns:
            if domain.place(name).shape:
                entries = ", ".join(labels(name, domain.place(name).shape)[:2])
                raise InputError(
                    f"column {name!r} has one number per row, but {name} has several entries; "
                    f"name a column after each of them: {entries}, …"
                )
            found[name] = read_column(name, self._column(name))
        return {**found, **keywords}

    def __len__(self) -> int:
        return len(self.rows)

    def _names(self) -> list[str]:
        return [name for name in self.rows.columns if isinstance(name, str)]

    def _column(self, name: str) -> "nw.Series[Any]":
        return self.rows.get_column(name)

    def _require_all(self, domain: Domain, columns: list[str], keywords: Mapping[str, Any]) -> None:
        if twice := [name for name in columns if name in keywords]:
            raise InputError(f"{twice[0]} is given twice, as a column and as a keyword.")
        given = {parse_name(name)[0] for name in (*columns, *keywords)}
        needed = {parse_name(name)[0] for name in domain.free}
        if missing := [name for name in domain.measures if name in needed - given]:
            spare = [name for name in self._names() if name not in columns]
            raise InputError(
                f"the data frame has no column {missing[0]!r}; add it, or give one value for all "
                f"rows: {missing[0]}=….{did_you_mean(missing[0], spare)}"
            )

    def name_of(self, row: int) -> str:
        """A row for people: its number, and its index if it has one."""
        return row_text(self.rows, row)

    def series(self, name: str, values: Numbers) -> Any:
        """A column of the same library with the same index.  Shape: `(rows,)`."""
        return self._new(name, values).to_native()

    def only(self, columns: Mapping[str, Numbers]) -> Any:
        """A frame of the same library and index with these columns."""
        return self._with(columns).select(list(columns)).to_native()

    def extended(self, columns: Mapping[str, Numbers]) -> Any:
        """The frame itself with further columns.

        Raises:
            InputError: it has one of them already.
        """
        if taken := [name for name in columns if name in self.rows.columns]:
            raise InputError(
                f"the data frame has a column {taken[0]!r} already; rename it, or drop it first."
            )
        return self._with(columns).to_native()

    def _with(self, columns: Mapping[str, Numbers]) -> "nw.DataFrame[Any]":
        return self.rows.with_columns(*(self._new(n, v) for n, v in columns.items()))

    def _new(self, name: str, values: Numbers) -> "nw.Series[Any]":
        import narwhals as nw

        made = nw.new_series(name, values, nw.Float64, backend=self.rows.implementation)
        if (index := nw.maybe_get_index(self.rows)) is None:
            return made
        native = made.to_native()
        native.index = index  # `maybe_set_index` would copy label by label, without names
        return nw.from_native(native, series_only=True)
