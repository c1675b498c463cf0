// @ts-check

/* Forms that make something are sent once; a page that showed a secret is not made again by reloading it. */
(() => {
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.hasAttribute('data-once')) return;
    if (form.dataset.sent === 'yes') event.preventDefault();
    else {
      form.dataset.sent = 'yes';
      // Whoever stopped the browser may try again.
      setTimeout(() => form.removeAttribute('data-sent'), 10_000);
    }
  });
  // Back from the next page: the form may be sent again.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) form.removeAttribute('data-sent');
  });

  const next = document.querySelector('[data-next]')?.getAttribute('data-next');
  if (next !== null && next !== undefined) history.replaceState(null, '', next);

  /* A form about time begins with the zone of whoever fills it in. */
  const zone = document.querySelector('select[data-own-zone]');
  if (zone instanceof HTMLSelectElement) {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if ([...zone.options].some((option) => option.value === own)) zone.value = own;
  }
})();
