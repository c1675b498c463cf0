// @ts-check

/* Forms that create something are sent only once; reloading a page with a secret does not create it again. */
(() => {
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.hasAttribute('data-once')) return;
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

  const next = document.querySelector('[data-next]')?.getAttribute('data-next');
  if (next !== null && next !== undefined) history.replaceState(null, '', next);

  /* The field for a time zone starts with the zone of the browser. */
  const zone = document.querySelector('select[data-own-zone]');
  if (zone instanceof HTMLSelectElement) {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if ([...zone.options].some((option) => option.value === own)) zone.value = own;
  }
})();
