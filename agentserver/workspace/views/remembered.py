"""The remembered workspaces and their parents over HTTP."""

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints
from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver import api
from agentserver.workspace import remembered
from agentserver.workspace.views.parameters import required

# PostgreSQL refuses NUL in text.
_Path = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]


class Parent(BaseModel):
    id: _Path
    name: _Name
    path: _Path


class Workspace(Parent):
    parentPath: _Path | None = None  # noqa: N815 (the wire's name)


class Workspaces(BaseModel):
    workspaces: list[Workspace] = Field(max_length=remembered.MOST)


class Parents(BaseModel):
    parents: list[Parent] = Field(max_length=remembered.MOST)


class WorkspacesView(APIView):
    """GET both lists; POST {"workspaces": [...]}; DELETE ?path=."""

    def get(self, request):
        return Response(remembered.listed())

    def post(self, request):
        remembered.add(kind=remembered.Kind.WORKSPACE, items=api.parse(request, Workspaces).workspaces)
        return Response(remembered.listed())

    def delete(self, request):
        remembered.remove(kind=remembered.Kind.WORKSPACE, path=required(request, "path"))
        return Response({"deleted": True})


class ParentsView(APIView):
    """POST {"parents": [...]}; DELETE ?path=."""

    def post(self, request):
        remembered.add(kind=remembered.Kind.PARENT, items=api.parse(request, Parents).parents)
        return Response(remembered.listed())

    def delete(self, request):
        remembered.remove(kind=remembered.Kind.PARENT, path=required(request, "path"))
        return Response({"deleted": True})
