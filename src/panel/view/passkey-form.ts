/** The form whose script asks the browser for a passkey. Without script it says that it needs one. */
import { type Html, html } from '../page/html.ts';
import type { Texts } from '../texts/en/en.ts';

type PasskeyForm = {
  mode: 'create' | 'get';
  action: string;
  /** For the browser, as JSON. */
  options: string;
  /** Hidden fields. */
  fields: Html;
  text: string;
  submit: string;
};

export const passkeyScripts = ['passkey.js'];

export const passkeyForm = (
  { passkeys: t }: Texts,
  { mode, action, options, fields, text, submit }: PasskeyForm,
): Html => html`<form method="post" action="${action}" class="card narrow" data-passkey="${mode}" data-options="${options}">
${fields}<input type="hidden" name="answer">
<p>${text}</p>
<noscript><p class="message warn">${t.needsScript}</p></noscript>
<p class="message bad" role="alert" data-passkey-problem hidden>${t.notGiven}</p>
<button class="primary">${submit}</button>
</form>`;
