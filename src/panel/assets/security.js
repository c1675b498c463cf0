// @ts-check

/* The area "security": times in the viewer's zone in forms, and no credential in an address bar. */
(() => {
  const apiKeyOrSecret = /op[ks]_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/;
  const token = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;

  /** @param {number} number @param {number} [length] @returns {string} */
  const padded = (number, length = 2) => String(number).padStart(length, '0');

  /** As a field for local times wants it. @param {Date} at @returns {string} */
  const localText = (at) =>
    `${padded(at.getFullYear(), 4)}-${padded(at.getMonth() + 1)}-${padded(at.getDate())}T${padded(at.getHours())}:${padded(at.getMinutes())}`;

  /* People choose in their zone; the address bar says the moment. */
  for (const input of document.querySelectorAll('input[data-moment]')) {
    if (!(input instanceof HTMLInputElement)) continue;
    const sent = document.createElement('input');
    sent.type = 'hidden';
    sent.name = input.name;
    sent.value = input.value;
    input.removeAttribute('name');
    input.type = 'datetime-local';
    const at = new Date(sent.value);
    input.value = sent.value === '' || Number.isNaN(at.getTime()) ? '' : localText(at);
    input.addEventListener('input', () => {
      sent.value = input.value === '' ? '' : new Date(input.value).toISOString();
    });
    input.after(sent);
  }

  for (const form of document.querySelectorAll('form[data-no-credentials]')) {
    if (!(form instanceof HTMLFormElement)) continue;
    form.addEventListener('submit', (event) => {
      const fields = [...new FormData(form)];
      const problem = form.querySelector('.field-error');
      const found = fields.some(
        ([, value]) => typeof value === 'string' && (apiKeyOrSecret.test(value) || token.test(value)),
      );
      if (found) event.preventDefault();
      if (!(problem instanceof HTMLElement)) return;
      problem.hidden = !found;
      problem.textContent = found ? (form.dataset.noCredentials ?? '') : '';
    });
    /* Empty fields say nothing in an address. */
    form.addEventListener('formdata', (event) => {
      for (const [name, value] of [...event.formData]) if (value === '') event.formData.delete(name);
    });
  }
})();
