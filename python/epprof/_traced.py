"""The decorator that records the calls of a function."""
import functools
import inspect
from typing import Any, Callable, Optional, TypeVar, Union, overload

from . import _record
from ._session import Category

_Function = TypeVar("_Function", bound=Callable[..., Any])


@overload
def trace(function: _Function) -> _Function: ...
@overload
def trace(function: Optional[str] = None, category: Category = Category.NODE) -> Callable[[_Function], _Function]: ...


def trace(function: Union[Callable[..., Any], str, None] = None, category: Category = Category.NODE) -> Any:
    """Records each call of a function as an event.

        @epprof.trace                       # the event's name is the function's qualified name
        @epprof.trace("load", Category.API)

    An `async` function becomes an async event, from the call to its result.
    """
    if callable(function):
        return _wrap(function, function.__qualname__, category)
    return lambda wrapped: _wrap(wrapped, function or wrapped.__qualname__, category)


def _wrap(function: Callable[..., Any], name: str, category: Category) -> Callable[..., Any]:
    event, number = _record.event, int(category)

    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def traced_async(*args: Any, **kwargs: Any) -> Any:
            with _record.async_event(name, number):
                return await function(*args, **kwargs)
        return traced_async

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        with event(name, number):
            return function(*args, **kwargs)
    return traced
