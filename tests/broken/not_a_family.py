"""A class that is no Family."""


class NotAFamily:
    pass
