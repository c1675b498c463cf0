// @ts-check

/* The pages of security: form fields with times in the viewer's zone, and a check that keeps credentials out of the address. */
{
  // Those of a sandbox have `test_` after the prefix.
  const apiKeyOrSecret = /op[ks]_(?:test_)?[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/;
  const token = /(?<![\w-])(?=[\w-]*eyJ[\w-])[\w-]+\.[\w-]+\.[\w-]+/;

  /** @param {number} number @param {number} [length] @returns {string} */
  const padded = (number, length = 2) => String(number).padStart(length, '0');

  const isUtc = () => document.documentElement.dataset.utc === 'yes';

  /** The value for a datetime-local field. @param {Date} given @returns {string} */
  const localText = (given) => (isUtc() ? given.toISOString().slice(0, 16) : textOfLocal(given));

  /** @param {Date} at @returns {string} */
  const textOfLocal = (at) =>
    `${padded(at.getFullYear(), 4)}-${padded(at.getMonth() + 1)}-${padded(at.getDate())}T${padded(at.getHours())}:${padded(at.getMinutes())}`;

  /* Users choose times in their zone or in UTC, as the page shows them; the query has them in UTC. */
  for (const input of document.querySelectorAll('input[data-moment]')) {
    if (!(input instanceof HTMLInputElement)) continue;
    const sent = document.createElement('input');
    sent.type = 'hidden';
    sent.name = input.name;
    sent.value = input.value;
    input.removeAttribute('name');
    input.type = 'datetime-local';
    const show = () => {
      const at = new Date(sent.value);
      input.value = sent.value === '' || Number.isNaN(at.getTime()) ? '' : localText(at);
    };
    show();
    document.addEventListener('orderpass:times', show);
    input.addEventListener('input', () => {
      sent.value = input.value === '' ? '' : new Date(isUtc() ? `${input.value}Z` : input.value).toISOString();
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
    /* Empty fields are left out of the address. */
    form.addEventListener('formdata', (event) => {
      for (const [name, value] of [...event.formData]) if (value === '') event.formData.delete(name);
    });
  }

  /**
   * Kind, public id and value of the first credential in a pasted text, which may have quotes, a header name and spaces.
   * @param {string} text @returns {{ kind: string, id: string, value: string } | undefined}
   */
  const readCredential = (text) => {
    const keyOrSecret = apiKeyOrSecret.exec(text)?.[0];
    if (keyOrSecret !== undefined)
      return {
        kind: keyOrSecret.startsWith('opk_') ? 'api_key' : 'client_secret',
        id: keyOrSecret.slice(0, keyOrSecret.lastIndexOf('_')),
        value: keyOrSecret,
      };
    const value = token.exec(text)?.[0];
    if (value === undefined) return undefined;
    try {
      const claims = JSON.parse(atob((value.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')));
      return typeof claims.jti === 'string' ? { kind: 'token', id: claims.jti, value } : undefined;
    } catch {
      return undefined;
    }
  };

  /**
   * The DER form of the first certificate in a PEM file. A private key beside it is ignored.
   * @param {string} text @returns {Uint8Array<ArrayBuffer> | undefined}
   */
  const readCertificate = (text) => {
    const body = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(text)?.[1];
    if (body === undefined) return undefined;
    try {
      return Uint8Array.from(atob(body.replaceAll(/\s/g, '')), (character) => character.charCodeAt(0));
    } catch {
      return undefined;
    }
  };

  /** SHA-256 as base64url, as RFC 8705 names certificates. @param {string} hex @returns {string} */
  const thumbprintOf = (hex) =>
    btoa(String.fromCharCode(...(hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16))))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replace('=', '');

  /** @param {string | Uint8Array<ArrayBuffer>} value @returns {Promise<string>} */
  const sha256 = async (value) => {
    const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
    const digest = await crypto.subtle.digest('SHA-256', bytes);
    return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  };

  /* The value never leaves the browser: its field has no name, so it is not sent, and it is emptied before the form is sent. */
  for (const form of document.querySelectorAll('form[data-incident]')) {
    const input = form.querySelector('[data-secret]');
    const problem = form.querySelector('.field-error');
    if (!(form instanceof HTMLFormElement) || !(input instanceof HTMLTextAreaElement)) continue;
    // A certificate has many lines, so the field has several; Enter sends the form all the same.
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    /** @param {string | undefined} text */
    const fail = (text) => {
      if (!(problem instanceof HTMLElement)) return;
      problem.textContent = text ?? '';
      problem.hidden = false;
      input.setAttribute('aria-invalid', 'true');
      input.focus();
    };
    /** @param {string} name @param {string} value */
    const fill = (name, value) => {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) field.value = value;
    };
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const der = readCertificate(input.value);
      const found =
        der === undefined ? readCredential(input.value) : { kind: 'client_certificate', id: '', value: der };
      if (found === undefined) return fail(form.dataset.unknown);
      if (crypto.subtle === undefined) return fail(form.dataset.insecure);
      const digest = await sha256(found.value);
      if (found.kind === 'client_certificate') found.id = thumbprintOf(digest);
      input.value = '';
      fill('kind', found.kind);
      fill('id', found.id);
      fill('sha256', digest);
      form.submit();
    });
  }

  const found = document.querySelector('[data-found]');
  if (found instanceof HTMLElement) found.focus();
}
