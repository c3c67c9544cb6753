"""A finding is plain data; a subject takes the scheme it is given, or the fast method's."""

import math

import feynkac as fk
from feynkac.checks.finding import Finding, Subject
from feynkac.methods.fast.choose_scheme import choose_scheme


def test_what_is_not_a_number_is_none_in_a_record():
    assert Finding("ok", "b", {"c": math.nan}).record()["figures"] == {"c": None}


def test_a_given_scheme_is_used():
    assert Subject(fk.BlackScholes(), fk.EulerMaruyama(3)).scheme == fk.EulerMaruyama(3)


def test_without_one_it_is_the_fast_method_s():
    assert Subject(fk.OrnsteinUhlenbeck()).scheme == choose_scheme(fk.OrnsteinUhlenbeck())
