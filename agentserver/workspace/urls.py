"""Paths of the workspace room, below /api/."""

from django.urls import re_path

from agentserver.workspace.views import archives, editor, files, git, remembered, site, trajectories

_ONE = r"conversations/(?P<conversation_id>[^/]+)/"


def _both(route: str, view):
    """The route for the whole machine, and the one confined to a conversation."""
    return [re_path(rf"^(?:{_ONE})?{route}/?\Z", view.as_view())]


urlpatterns = [
    re_path(rf"^{_ONE}workspace(?:/(?P<name>[\s\S]*))?\Z", site.SiteView.as_view()),
    *_both("file/upload", files.UploadView),
    *_both("file/download", files.DownloadView),
    *_both("file/create_directory", files.CreateDirectoryView),
    *_both("file/download-trajectory/(?P<wanted_id>[^/]+)", trajectories.TrajectoryView),
    *_both("file/archive", archives.ArchiveView),
    re_path(r"^git/repositories/search/?\Z", git.RepositoriesView.as_view()),
    re_path(r"^workspaces/?\Z", remembered.WorkspacesView.as_view()),
    re_path(r"^workspaces/parents/?\Z", remembered.ParentsView.as_view()),
    *_both("vscode/status", editor.EditorStatusView),
    *_both("vscode/url", editor.EditorUrlView),
    re_path(r"^desktop/url/?\Z", editor.DesktopUrlView.as_view()),
    re_path(r"^file/home/?\Z", files.HomeView.as_view()),
    re_path(r"^file/search_subdirs/?\Z", files.SubdirectoriesView.as_view()),
    *_both("git/changes", git.ChangesView),
    *_both("git/diff", git.DiffView),
    *_both("git/commits", git.CommitsView),
    *_both("git/commits/(?P<sha>[^/]+)/changes", git.CommitChangesView),
]
