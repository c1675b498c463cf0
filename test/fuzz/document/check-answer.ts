/** What of an answer is not as the document says: its status, media type, headers, body and error code. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Json } from './random-value.ts';

export type Answer = { status: number; headers: Headers; text: string };

type Sent = { method: string; headers: Record<string, string> };

/** Returns the violations; none is an empty array. Objects with members that the document does not name are violations too. */
export const createCheckAnswer = (document: Json): ((operation: Json, sent: Sent, answer: Answer) => string[]) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const resolved = (node: Json): Json =>
    JSON.parse(JSON.stringify(node).replaceAll('"#/components/', '"https://reference.example/#/components/'));
  ajv.addSchema({
    $id: 'https://reference.example/',
    components: { schemas: resolved(closed(document.components.schemas)) },
  });
  const compiled = new Map<string, ValidateFunction>();
  const bodyFaults = (schema: Json, value: Json): string[] => {
    const text = JSON.stringify(schema);
    const fits = compiled.get(text) ?? ajv.compile(resolved(schema));
    compiled.set(text, fits);
    return fits(value) ? [] : [`body: ${ajv.errorsText(fits.errors)}`];
  };
  const deref = (node: Json): Json => {
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(node?.$ref ?? '') ?? [];
    return kind === undefined ? node : deref(document.components[kind][name ?? '']);
  };
  return (operation, sent, { status, headers, text }) => {
    const isNamed = operation.responses[status] !== undefined;
    const response = deref(operation.responses[status] ?? operation.responses.default);
    if (response === undefined) return [`status ${status} is not documented`];
    const faults: string[] = [];
    if (!isNamed && !response.description.includes(`${status} \``)) faults.push(`status ${status} is not documented`);
    faults.push(...headerFaults(response.headers ?? {}, deref, status, headers, sent));
    if (response.content === undefined) return text === '' ? faults : [...faults, 'a body where none is documented'];
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const media = response.content[type];
    if (media === undefined) return [...faults, `media type ${type} is not documented`];
    const body = JSON.parse(text);
    faults.push(...bodyFaults(media.schema, body));
    const code = body.code ?? (typeof body.error === 'string' ? body.error : undefined);
    if (
      status >= 400 &&
      !response.description.includes(`\`${code}\``) &&
      !response.description.includes(`\`${body.error}\``)
    )
      faults.push(`the error ${code} is not documented for ${status}`);
    return faults;
  };
};

const headerFaults = (
  documented: Json,
  deref: (node: Json) => Json,
  status: number,
  headers: Headers,
  sent: Sent,
): string[] => {
  const scheme = sent.headers.authorization;
  const isNeeded = (name: string, { example }: Json): boolean => {
    if (name !== 'WWW-Authenticate')
      return name.startsWith('RateLimit') || (name === 'Retry-After' && [429, 503].includes(status));
    return /^Basic/.test(example) ? scheme !== undefined : status === 401 || /^(bearer|dpop)/i.test(scheme ?? '');
  };
  const faults = Object.entries<Json>(documented).flatMap(([name, one]) => {
    const value = headers.get(name);
    if (value === null) return isNeeded(name, deref(one)) ? [`the header ${name} is missing`] : [];
    const { schema } = deref(one);
    return schema.type === 'integer' && !/^\d+$/.test(value) ? [`the header ${name} is no integer`] : [];
  });
  for (const name of ['x-request-id', 'x-api-version'])
    if (!headers.has(name)) faults.push(`the header ${name} is missing`);
  if (headers.has('retry-after') && documented['Retry-After'] === undefined)
    faults.push('Retry-After is not documented');
  return faults;
};

/** Every object has only the members that it names. */
const closed = (node: Json): Json => {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const found = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]));
  return node.properties === undefined || Array.isArray(node.properties) || typeof node.type !== 'string'
    ? found
    : { additionalProperties: false, ...found };
};
