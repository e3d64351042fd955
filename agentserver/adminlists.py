"""Lists of the admin over very many rows, which are the record: read, and never edited."""

from typing import Any

from django.contrib import admin
from django.core.paginator import Page, Paginator


class KeyPaginator(Paginator):
    """Finds the keys of a page by the index of its order, and then reads those rows alone.

    Of whole rows SQLite would look up each that OFFSET leaves out: seconds for the last of 100,000.
    """

    def page(self, number: Any) -> Page:
        found = super().page(number)
        found.object_list = self.object_list.filter(pk__in=self._keys(found.number))
        return found

    def _keys(self, number: int) -> list[Any]:
        """Those of a page, counted from the nearer end: the last page costs what the first does."""
        begin = (number - 1) * self.per_page
        end = min(begin + self.per_page, self.count)
        keys = self.object_list.values_list("pk", flat=True)
        if begin <= self.count // 2:
            return list(keys[begin:end])
        return list(keys.reverse()[self.count - end : self.count - begin])


class ReadOnlyAdmin(admin.ModelAdmin):
    """Counting all rows beside those that were found, and for each filter, is left out."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    paginator = KeyPaginator

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def get_readonly_fields(self, request, obj=None):
        return self.get_fields(request, obj)
