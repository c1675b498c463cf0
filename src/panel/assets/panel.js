// @ts-check

/* The script of every page. All pages work without it. */
{
  const language = document.documentElement.lang;
  // English of Britain and of the United States write dates differently, so the region is that of the browser.
  const own = navigator.languages ?? [navigator.language];
  const locale = own.find((one) => one.split('-')[0] === language) ?? language;
  // Hours from 1 to 12 only where the language of the page and the first one of the browser both use them.
  const cycles = [own[0], locale].map((one) => new Intl.DateTimeFormat(one, { hour: 'numeric' }).resolvedOptions());
  const hourCycle = cycles.find((one) => one.hour12 === false)?.hourCycle ?? cycles[0]?.hourCycle;
  /** Written 5:26 PM, while 24-hour clocks write 05:26. */
  const isHalfDay = hourCycle === 'h11' || hourCycle === 'h12';
  const timesKey = 'orderpass-times';

  /** The reader's choice of UTC is kept in the browser, because without script every time is in UTC anyway. */
  const isUtc = () => {
    try {
      return localStorage.getItem(timesKey) === 'utc';
    } catch {
      return false;
    }
  };

  const timeFormats = () => {
    const zone = isUtc() ? { timeZone: 'UTC' } : {};
    /** @type {Intl.DateTimeFormatOptions} */
    const date = { day: 'numeric', month: 'short', year: 'numeric', ...zone };
    /** @type {Intl.DateTimeFormatOptions} */
    const minute = { hour: isHalfDay ? 'numeric' : '2-digit', minute: '2-digit', hourCycle, ...zone };
    /** @type {Intl.DateTimeFormatOptions} */
    const second = { ...minute, second: '2-digit' };
    /** @type {Intl.DateTimeFormatOptions} */
    const named = isUtc() ? { timeZoneName: 'short' } : {};
    return {
      day: new Intl.DateTimeFormat(locale, date),
      // A day of UTC is no moment that another zone could show as the day before.
      date: new Intl.DateTimeFormat(locale, { ...date, timeZone: 'UTC' }),
      dateLong: new Intl.DateTimeFormat(locale, { ...date, month: 'long', weekday: 'long', timeZone: 'UTC' }),
      dayLong: new Intl.DateTimeFormat(locale, { ...date, month: 'long', weekday: 'long' }),
      moment: new Intl.DateTimeFormat(locale, { ...date, ...minute, ...named }),
      exact: new Intl.DateTimeFormat(locale, { ...date, ...second, ...named }),
      axis: new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', ...minute, ...named }),
      clock: new Intl.DateTimeFormat(locale, second),
      full: new Intl.DateTimeFormat(locale, {
        ...{ ...date, month: 'long', weekday: 'long' },
        ...{ ...second, timeZoneName: 'long' },
      }),
    };
  };
  let formats = timeFormats();
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

  /** @param {number} seconds from now @returns {string} */
  const relativeText = (seconds) => {
    const size = Math.abs(seconds);
    if (size < 60) return relative.format(Math.round(seconds), 'second');
    if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute');
    if (size < 86400) return relative.format(Math.round(seconds / 3600), 'hour');
    return relative.format(Math.round(seconds / 86400), 'day');
  };

  /** Moments in the viewer's zone, or in UTC. @param {ParentNode} root */
  const showTimes = (root) => {
    for (const element of root.querySelectorAll('time[datetime]')) {
      const at = new Date(element.getAttribute('datetime') ?? '');
      if (Number.isNaN(at.getTime())) continue;
      const style = element.getAttribute('data-style');
      const format =
        style === 'day' || style === 'date' || style === 'exact' || style === 'clock' || style === 'axis'
          ? formats[style]
          : formats.moment;
      const text = style === 'relative' ? relativeText((at.getTime() - Date.now()) / 1000) : format.format(at);
      if (element.textContent !== text) element.textContent = text;
      element.setAttribute('title', (style === 'date' ? formats.dateLong : formats.full).format(at));
    }
    for (const list of root.querySelectorAll('[data-days]')) showDays(list);
  };

  /**
   * The server groups by days of UTC; the reader's days begin at other times. A list of days has headings `data-day`, each
   * before what happened on that day.
   * @param {Element} list
   */
  const showDays = (list) => {
    const model = list.querySelector('[data-day]');
    if (model === null) return;
    for (const heading of list.querySelectorAll('[data-day]')) heading.remove();
    let shown = '';
    for (const item of [...list.children]) {
      const at = new Date(item.querySelector('time[datetime]')?.getAttribute('datetime') ?? '');
      if (Number.isNaN(at.getTime())) continue;
      const text = formats.dayLong.format(at);
      if (text === shown) continue;
      shown = text;
      const heading = /** @type {Element} */ (model.cloneNode(true));
      (heading.querySelector('[data-day-text]') ?? heading).textContent = text;
      item.before(heading);
    }
  };

  const showSwitch = () => {
    for (const button of document.querySelectorAll('[data-times]'))
      button.setAttribute('aria-pressed', String((button.getAttribute('data-times') === 'utc') === isUtc()));
    document.documentElement.dataset.utc = isUtc() ? 'yes' : 'no';
  };
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('[data-times]') : null;
    if (button === null) return;
    try {
      localStorage.setItem(timesKey, button.getAttribute('data-times') ?? '');
    } catch {
      return;
    }
    formats = timeFormats();
    showSwitch();
    showTimes(document);
    document.dispatchEvent(new CustomEvent('orderpass:times'));
  });

  /** @param {string} text */
  const toast = (text) => {
    const place = document.getElementById('toast');
    if (place === null) return;
    place.textContent = text;
    setTimeout(() => {
      if (place.textContent === text) place.textContent = '';
    }, 6000);
  };

  /** `data-copy="id"` copies the text of that element. */
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
    const source = button === null ? null : document.getElementById(button.getAttribute('data-copy') ?? '');
    if (source === null) return;
    const text = source instanceof HTMLInputElement ? source.value : (source.textContent ?? '').trim();
    navigator.clipboard.writeText(text).then(
      () => toast(document.body.dataset.copied ?? ''),
      () => {
        // The clipboard is not accessible; select the text, so that the user can copy it by keyboard.
        const range = document.createRange();
        range.selectNodeContents(source);
        getSelection()?.removeAllRanges();
        getSelection()?.addRange(range);
      },
    );
  });

  document.addEventListener('htmx:configRequest', (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    // The page sends this request itself, so it must not extend the session.
    const cause = detail.triggeringEvent?.type ?? '';
    if (cause.startsWith('sse:')) detail.headers['X-Panel-Background'] = '1';
  });
  /*
   * A click ends on the element on which it began, or it is lost. So what the page fetches by itself replaces nothing while the
   * pointer is pressed, and is fetched again when that ends.
   */
  let isPressed = false;
  /** @type {Map<Element, string>} */
  const postponed = new Map();
  document.addEventListener('htmx:beforeSwap', (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    const cause = detail.requestConfig?.triggeringEvent?.type ?? '';
    if (!isPressed || !cause.startsWith('sse:')) return;
    detail.shouldSwap = false;
    postponed.set(detail.requestConfig.elt, cause);
  });
  addEventListener('pointerdown', ({ button }) => {
    isPressed = button === 0;
  });
  const endPress = () => {
    isPressed = false;
    for (const [element, cause] of postponed) /** @type {any} */ (window).htmx.trigger(element, cause);
    postponed.clear();
  };
  // The click follows the end of the press. A menu, or another window, may leave the press without its own end.
  for (const name of ['pointerup', 'pointercancel', 'contextmenu', 'blur'])
    addEventListener(name, () => setTimeout(endPress));
  for (const name of ['htmx:responseError', 'htmx:sendError', 'htmx:timeout'])
    document.addEventListener(name, () => toast(document.body.dataset.failed ?? ''));
  document.addEventListener('htmx:load', (event) => {
    if (event.target instanceof Element) showTimes(event.target.parentElement ?? event.target);
  });

  /**
   * An event source that disconnects while its tab is hidden: a browser opens at most six connections to a server, and six
   * background tabs would use all of them. After reconnecting, the server sends the missed changes, because the address
   * contains the marks of the shown data.
   * @param {string} url
   */
  const restingSource = (url) => {
    /** @type {[string, (event: Event) => void][]} */
    const listeners = [];
    let isOver = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let rest;
    const source = {
      /** @type {((event: Event) => void) | null} */
      onopen: null,
      /** @type {((event: Event) => void) | null} */
      onerror: null,
      get readyState() {
        return inner.readyState;
      },
      /** @param {string} name @param {(event: Event) => void} listener */
      addEventListener: (name, listener) => {
        listeners.push([name, listener]);
        inner.addEventListener(name, listener);
      },
      /** @param {string} name @param {(event: Event) => void} listener */
      removeEventListener: (name, listener) => {
        const index = listeners.findIndex((entry) => entry[0] === name && entry[1] === listener);
        if (index !== -1) listeners.splice(index, 1);
        inner.removeEventListener(name, listener);
      },
      close: () => {
        isOver = true;
        clearTimeout(rest);
        document.removeEventListener('visibilitychange', look);
        inner.close();
      },
    };
    const open = () => {
      const made = new EventSource(url);
      for (const [name, listener] of listeners) made.addEventListener(name, listener);
      made.onopen = (event) => source.onopen?.(event);
      made.onerror = (event) => {
        // The server refused the stream; htmx creates a new event source.
        if (made.readyState === EventSource.CLOSED) {
          isOver = true;
          document.removeEventListener('visibilitychange', look);
        }
        source.onerror?.(event);
      };
      return made;
    };
    const look = () => {
      clearTimeout(rest);
      if (document.visibilityState === 'hidden') rest = setTimeout(() => inner.close(), 10_000);
      else if (!isOver && inner.readyState === EventSource.CLOSED) inner = open();
    };
    let inner = open();
    document.addEventListener('visibilitychange', look);
    return source;
  };
  Object.assign(/** @type {any} */ (window).htmx ?? {}, { createEventSource: restingSource });

  /* A bar at the top, after 300 ms: shorter ones would only flicker. */
  let waits = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const beginWait = () => {
    waits += 1;
    if (waits === 1) waiting = setTimeout(() => document.body.setAttribute('data-busy', ''), 300);
  };
  const endWait = () => {
    waits = Math.max(0, waits - 1);
    if (waits > 0) return;
    clearTimeout(waiting);
    document.body.removeAttribute('data-busy');
  };
  /** Not a request that the page sends by itself. @param {Event} event */
  const isAsked = (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    return !(detail.requestConfig?.triggeringEvent?.type ?? '').startsWith('sse:');
  };
  document.addEventListener('htmx:beforeRequest', (event) => isAsked(event) && beginWait());
  document.addEventListener('htmx:afterRequest', (event) => isAsked(event) && endWait());
  let isDownload = false;
  document.addEventListener('click', ({ target }) => {
    isDownload = target instanceof Element && target.closest('[data-download]') !== null;
  });
  // Every link and form that leaves the page; a download stays on it.
  addEventListener('beforeunload', () => {
    if (!isDownload) beginWait();
  });
  // The user came back to the page, which the browser kept as it was.
  addEventListener('pageshow', () => {
    waits = 0;
    endWait();
  });

  /* A form that changes something is sent once: of two answers the browser would show the second, and drop a secret in the first. */
  document.addEventListener('submit', (event) => {
    const form = event.target;
    // Scripts stop a form that they send in another way.
    if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.getAttribute('method') !== 'post') return;
    if (form.dataset.sent === 'yes') event.preventDefault();
    else {
      form.dataset.sent = 'yes';
      // After 10 s the form may be sent again, for example when the user stopped the request.
      setTimeout(() => form.removeAttribute('data-sent'), 10_000);
    }
  });
  // The user came back from the next page: the form may be sent again.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) form.removeAttribute('data-sent');
  });

  // Reloading a page with a result that is shown once must not send the form again.
  const shown = document.querySelector('[data-shown-once]');
  if (shown !== null) history.replaceState(null, '', shown.getAttribute('data-shown-once') ?? location.href);

  // The field for a time zone starts with the zone of the browser.
  const zone = document.querySelector('select[data-own-zone]');
  if (zone instanceof HTMLSelectElement) {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if ([...zone.options].some((option) => option.value === own)) zone.value = own;
  }

  // A time in the zone in which the page shows times is sent in UTC. Without script the field stays hidden.
  for (const element of document.querySelectorAll('[data-with-script]')) element.removeAttribute('hidden');
  for (const field of document.querySelectorAll('input[data-utc-field]')) {
    const target = document.getElementById(field.getAttribute('data-utc-field') ?? '');
    if (!(field instanceof HTMLInputElement) || !(target instanceof HTMLInputElement)) continue;
    const read = () => {
      const at = new Date(isUtc() ? `${field.value}Z` : field.value);
      target.value = Number.isNaN(at.getTime()) ? '' : at.toISOString();
    };
    // A form that comes back with an error has the time that was sent.
    const given = new Date(target.value);
    if (!Number.isNaN(given.getTime())) {
      const local = isUtc() ? given.getTime() : given.getTime() - given.getTimezoneOffset() * 60_000;
      field.value = new Date(local).toISOString().slice(0, 16);
    }
    field.addEventListener('input', read);
    document.addEventListener('orderpass:times', read);
    // A chosen span replaces the exact time.
    document.querySelector(`[data-clears="${target.id}"]`)?.addEventListener('change', () => {
      field.value = '';
      read();
    });
  }

  document.addEventListener('orderpass:shown', (event) => showTimes(/** @type {CustomEvent} */ (event).detail));

  showSwitch();
  /* `/` leads to the search in the header, on a phone inside the menu. Escape leads back and closes an open list. */
  let leftFor = /** @type {Element | null} */ (null);
  document.addEventListener('keydown', (event) => {
    const find = document.querySelector('input[data-find]');
    const { target } = event;
    if (!(find instanceof HTMLInputElement) || !(target instanceof HTMLElement) || event.isComposing) return;
    if (event.key === 'Escape') {
      if (target === find && leftFor instanceof HTMLElement) leftFor.focus();
      const list = target.closest('details.switcher[open]');
      list?.removeAttribute('open');
      list?.querySelector('summary')?.focus();
      return;
    }
    const isTyping = target.isContentEditable || target.matches('input, select, textarea');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    leftFor = target;
    const menu = find.closest('[popover]');
    if (!find.checkVisibility() && menu instanceof HTMLElement) menu.showPopover();
    find.focus();
    find.select();
  });

  showTimes(document);
  setInterval(() => showTimes(document), 30_000);
}
