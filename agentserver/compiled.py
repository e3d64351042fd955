"""Queries that the ORM builds once for each shape, for the few that clients poll.

Of a request that reads one row by its key, building the SQL anew is half (profiled: 36 of 52 samples, the
engine itself 14). A query is compiled on first use and kept; only its values change from call to call.
"""

import uuid
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet


def place(number: int) -> uuid.UUID:
    """What stands in a queryset for the UUID that is given as the ``number``-th value of each call."""
    return uuid.UUID(int=(0xC0DE << 64) + number)


class Compiled:
    """The SQL of a ``values_list`` queryset with ``places`` UUIDs left open. Thread-safe."""

    def __init__(self, rows: QuerySet, places: int) -> None:
        compiler = rows.query.get_compiler(connection=connection)
        self.sql, params = compiler.as_sql()
        self._converters = compiler.get_converters([column[0] for column in compiler.select])
        open_places = {_adapted(place(number)): number for number in range(places)}
        self._params = [(open_places.get(param), param) for param in params]

    def rows(self, *values: uuid.UUID) -> list[tuple[Any, ...]]:
        """The rows for these values, as ``values_list`` gives them."""
        given = [param if number is None else _adapted(values[number]) for number, param in self._params]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, given)
            found = cursor.fetchall()
        return [self._converted(row) for row in found] if self._converters else found

    def _converted(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        values = list(row)
        for index, (converters, expression) in self._converters.items():
            for convert in converters:
                values[index] = convert(values[index], expression, connection)
        return tuple(values)


class CompiledModels[T: Model](Compiled):
    """The same for model instances that have only ``fields``, as ``only`` makes them."""

    def __init__(self, rows: QuerySet, places: int, fields: tuple[str, ...]) -> None:
        self._model: type[T] = rows.model
        meta = rows.model._meta
        wanted = {meta.get_field(name).attname for name in fields}
        # from_db takes values in the order in which the model has its fields.
        self._names = [field.attname for field in meta.concrete_fields if field.attname in wanted]
        super().__init__(rows.values_list(*self._names), places)

    def models(self, *values: uuid.UUID) -> Iterator[T]:
        for row in self.rows(*values):
            yield self._model.from_db(connection.alias, self._names, row)


def _adapted(value: uuid.UUID) -> Any:
    """As the engine takes it."""
    return value if connection.features.has_native_uuid_field else value.hex
