/** The form of an endpoint, with its values and error messages. */
import { Fault } from '#src/contract/fault.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { EditedEndpoint, EndpointFields, WebhookEndpoint } from '../ports/restaurant.ts';
import { kinds } from '../restaurant/notification-pages.ts';
import { fieldNote } from '../view/field.ts';

const fieldNames = ['url', 'description', 'kinds', 'signature_header', 'signature', 'auth', 'max_per_second'] as const;
/** The schemes of interface 31. */
const schemes = ['rfc9421:ed25519', 'rfc9421:ecdsa-p256'] as const;
export type FieldProblems = Partial<Record<(typeof fieldNames)[number], string>>;

const textOf = (form: URLSearchParams, name: string): string | null => {
  const text = (form.get(name) ?? '').trim();
  return text === '' ? null : text;
};

export const readEndpointForm = (form: URLSearchParams): EndpointFields => ({
  url: textOf(form, 'url') ?? '',
  description: textOf(form, 'description'),
  kinds: [...new Set(form.getAll('kinds'))],
  signatureHeader: textOf(form, 'signature_header'),
  signature: textOf(form, 'signature'),
  v1a: textOf(form, 'v1a'),
  maxPerSecond: textOf(form, 'max_per_second'),
  digest: form.get('digest') === '1',
});

export const newEndpoint: EndpointFields = {
  url: '',
  description: null,
  kinds,
  signatureHeader: null,
  signature: null,
  v1a: null,
  maxPerSecond: null,
  digest: false,
};

export const fieldsOf = (endpoint: WebhookEndpoint): EndpointFields => ({
  ...endpoint,
  v1a: String(endpoint.v1a),
  maxPerSecond: endpoint.maxPerSecond?.toString() ?? null,
});

/** The stored values that the form shows. */
export const editedOf = (endpoint: EditedEndpoint): readonly unknown[] => {
  const { url, description, kinds: chosen, signatureHeader, signature, v1a, maxPerSecond, digest } = endpoint;
  return Object.entries({ url, description, chosen, signatureHeader, signature, v1a, maxPerSecond, digest });
};

/** The error messages of a refusal by field; undefined when the refusal is not about fields. */
export const problemsOf = ({ texts }: View, error: unknown): FieldProblems | undefined => {
  const t = texts.restaurant.webhooks.problems;
  if (!(error instanceof Fault) || error.errors === undefined) return undefined;
  const problems: FieldProblems = {};
  for (const { pointer, code, message } of error.errors) {
    const name = fieldNames.find((one) => pointer === one || pointer.startsWith(`/${one}/`));
    if (name === undefined) return undefined;
    if (name === 'auth') problems.url = t.auth;
    else if (name === 'url') problems.url = code === 'REQUIRED' ? t.required : t.url(message);
    else problems[name] = t[name];
  }
  return problems;
};

type FormOptions = { fields: EndpointFields; problems: FieldProblems; isNew: boolean };

export const endpointFields = (view: View, options: FormOptions): Html => {
  const { fields, problems } = options;
  const t = view.texts.restaurant.webhooks;
  const { optional, notifications } = view.texts.restaurant;
  const of = (name: keyof FieldProblems) => fieldNote(name, problems[name]);
  const [url, description, kindsOf] = [of('url'), of('description'), of('kinds')];
  return html`<label>${t.url} <span class="hint">${t.urlHint}</span>
<input type="url" name="url" required maxlength="2048" autocomplete="off" value="${fields.url}"${url.attributes}></label>${url.line}
<label>${t.description} <span class="hint">(${optional}) ${t.descriptionHint}</span>
<input name="description" maxlength="200" autocomplete="off" value="${fields.description ?? ''}"${description.attributes}></label>${description.line}
<fieldset${kindsOf.attributes}><legend>${t.kinds}</legend>${kinds.map(
    (kind) =>
      html`<label class="check"><input type="checkbox" name="kinds" value="${kind}"${fields.kinds.includes(kind) && html` checked`}>${notifications.kinds[kind]}</label>`,
  )}</fieldset>${kindsOf.line}
${moreFields(view, options)}`;
};

/** Settings that are rarely needed. */
const moreFields = (view: View, { fields, problems, isNew }: FormOptions): Html => {
  const t = view.texts.restaurant.webhooks;
  const header = fieldNote('signature_header', problems.signature_header);
  const signature = fieldNote('signature', problems.signature);
  const rate = fieldNote('max_per_second', problems.max_per_second);
  const isOpen =
    [fields.signatureHeader, fields.signature, fields.maxPerSecond].some((value) => value !== null) ||
    fields.digest ||
    fields.v1a === 'false';
  return html`<details${isOpen && html` open`}><summary>${t.more}</summary>
<label>${t.signatureHeader} <span class="hint">${t.signatureHeaderHint}</span>
<input name="signature_header" maxlength="64" autocomplete="off" value="${fields.signatureHeader ?? ''}"${header.attributes}></label>${header.line}
<label>${t.signature} <span class="hint">${t.signatureHint}</span>
<select name="signature"${signature.attributes}><option value="">${t.signatureNone}</option>${schemes.map(
    (scheme) => html`<option${fields.signature === scheme && html` selected`}>${scheme}</option>`,
  )}</select></label>${signature.line}
<label>${t.v1a} <span class="hint">${t.v1aHint}</span>
<select name="v1a">${isNew && html`<option value="">${t.v1aDefault}</option>`}${(['true', 'false'] as const).map(
    (value) => html`<option value="${value}"${fields.v1a === value && html` selected`}>${t.v1aSent[value]}</option>`,
  )}</select></label>
<label>${t.maxPerSecond} <span class="hint">${t.maxPerSecondHint}</span>
<input name="max_per_second" inputmode="numeric" maxlength="6" autocomplete="off" value="${fields.maxPerSecond ?? ''}"${rate.attributes}></label>${rate.line}
<label class="check"><input type="checkbox" name="digest" value="1"${fields.digest && html` checked`}>${t.digest}</label>
</details>`;
};
