/** The examples of the reference: a value that fits a schema and looks like one of the interface. */
import { sampleIds as ids } from './examples/sample-ids.ts';
import type { Json } from './json-schema.ts';

const known: Readonly<Record<string, unknown>> = {
  uid: 'uid_01',
  catuid: ids.category,
  client_uid: ids.customer,
  order_uid: ids.newOrder,
  subrestaurant_uid: ids.location,
  restuid: ids.restaurant,
  token: 'kPq3XbUe0',
  email: 'ada@example.com',
  client_email: 'ada@example.com',
  first_name: 'Ada',
  last_name: 'Rossi',
  phone: '+390551234567',
  country: 'IT',
  language: 'it',
  city: 'Firenze',
  province: 'FI',
  street: 'Via Roma',
  zip: '50122',
  currency: 'EUR',
  time_zone: 'Europe/Rome',
  image: 'https://images.example/margherita.jpg',
  url: 'https://shop.example/menu',
  dmethod: '1',
  order_number: 'A-1042',
  number: '12',
  previous_seq: 1,
  seq: 2,
  quantity: 2,
  page: 1,
  pagesize: 100,
  total_count: 1,
  version: 18,
  base_version: 17,
  created: '2026-03-01 18:40:00',
  date: '2026-03-01 18:40:00',
  path: '/api/order/create',
  method: 'POST',
  status: 'new',
  pos_uid: 'till-1',
  client_id: 'opc_7Q',
  cursor: 'Zm9v.c2ln',
  diff_points: 10,
  endpoint_uid: ids.endpoint,
  event_id: 'evt_01',
  redelivery_uid: 'rdl_01',
  event: 'customer.changed',
  kind: 'customers',
  entity: 'cus_01',
  kinds: 'customers',
  secret: 'whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=',
  signature_header: 'X-Orderpass-Signature',
  description: 'Till at the bar',
  body: '{"event":"customer.changed"}',
  address: '198.51.100.7',
  after: 'evt_01',
};

const instant = '2026-03-01T18:40:00+01:00';

/** `all`: optional members too. */
export const sampleOf = (schema: Json, all: boolean, name = ''): unknown => {
  if (schema.$ref === '#/components/schemas/Success') return true;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (Array.isArray(schema.enum)) return schema.enum[0];
  for (const word of ['anyOf', 'oneOf']) {
    const branches = schema[word];
    if (!Array.isArray(branches) || schema.properties !== undefined) continue;
    return sampleOf(branches.find(({ type }: Json) => type !== 'null') as Json, all, name);
  }
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  switch (type) {
    case 'object':
      return objectOf(schema, all);
    case 'array':
      return [sampleOf((schema.items ?? {}) as Json, all, name)];
    case 'boolean':
      return schema.default ?? false;
    case 'integer':
    case 'number':
      return numberOf({ ...schema, type }, name);
    case 'string':
      return textOf(schema, name);
    default:
      return {};
  }
};

const objectOf = (schema: Json, all: boolean): Json => {
  const properties = (schema.properties ?? {}) as Record<string, Json>;
  const required = new Set((schema.required ?? []) as string[]);
  const [alternative] = (schema.anyOf ?? []) as { required?: string[] }[];
  for (const name of alternative?.required ?? []) required.add(name);
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => all || required.has(name))
      .map(([name, member]) => [name, sampleOf(member, all, name)]),
  );
};

const numberOf = ({ minimum, maximum, default: usual, type }: Json, name: string): number => {
  if (typeof usual === 'number') return usual;
  const value = known[name];
  if (typeof value === 'number') return value;
  const sample = type === 'integer' ? 1 : 7.5;
  return Math.min(Math.max(sample, Number(minimum ?? 0)), Number(maximum ?? sample));
};

const textOf = ({ format, minLength, maxLength }: Json, name: string): string => {
  if (format === 'date') return '2026-03-01';
  if (format === 'date-time' || name.endsWith('_iso')) return instant;
  if (/(^|_)(date|started|end|order|added|deleted|unregistered)$/.test(name) && maxLength === undefined)
    return '2026-03-01 18:40:00';
  const value = known[name];
  const text = typeof value === 'string' ? value : (name || 'text').replaceAll('_', ' ');
  return text.padEnd(Number(minLength ?? 0), '.').slice(0, Number(maxLength ?? text.length));
};
