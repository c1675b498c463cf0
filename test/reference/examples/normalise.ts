/** Answers of a run in the form of the document: with the ids of the examples, and at one time. */
import { parameterSamples, requestSamples } from '#src/app/reference/document/examples/request-samples.ts';
import { sampleIds } from '#src/app/reference/document/examples/sample-ids.ts';
import type { Json, Printed } from './run-examples.ts';

/** The time at which the recorded run began. */
const beganMs = Date.parse('2026-03-01T17:40:00Z');

type Began = { document: Json; printed: Printed; url: string; at: Date };

/** Ids get the number of their first appearance, so every answer of a run goes through the same function, in sequence. */
export const createNormalise = ({ document, printed, url, at }: Began): ((value: Json) => Json) => {
  const names = seeded(document, at);
  names.set(printed.clientId, sampleIds.client);
  const counts = new Map<string, number>();
  const taken = new Set<string>(Object.values(sampleIds));
  const named = (real: string, prefix: string): string => {
    const known = names.get(real);
    if (known !== undefined) return known;
    let name: string;
    do {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      name = `${prefix}_${String(count).padStart(2, '0')}`;
    } while (taken.has(name) && prefix !== 'rst' && prefix !== 'loc');
    names.set(real, name);
    return name;
  };
  const deltaMs = beganMs - Math.floor(at.getTime() / 1000) * 1000;
  return (value) =>
    JSON.parse(
      shifted(JSON.stringify(value), at, deltaMs)
        .replaceAll(`${url}/demo/receiver`, 'https://till.example/hook')
        .replaceAll(url, 'https://api.example')
        .replaceAll(/\b([a-z]{3})_(?:test_)?[0-9a-hjkmnp-tv-z]{25}\b/g, named)
        .replaceAll(printed.clientId, sampleIds.client)
        .replaceAll(/(?<=token\\?":\\?")[\w-]{43}(?=\\?")/g, (token) => named(token, 'tok'))
        .replaceAll(
          /eyJ[\w-]+\.[\w-]+\.[\w-]+/g,
          'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJvcGNfN1EifQ.c2ln',
        )
        .replaceAll(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=')
        .replaceAll(/(?<="next_cursor":")[^"]+/g, 'Zm9v.c2ln')
        .replaceAll(/(?<="code":")[0-9A-HJKMNP-TV-Z]{10}(?=")/g, (code) => names.get(code) ?? '4TQ8ZBM1C6')
        .replaceAll(/(?<="jti":")[^"]+/g, 'jti_01')
        .replaceAll('"127.0.0.1"', '"198.51.100.7"'),
    );
};

/** Real id → id of the examples, from the places of the document where an example has one. */
const seeded = (document: Json, at: Date): Map<string, string> => {
  const names = new Map<string, string>();
  const walk = (example: Json, real: Json): void => {
    if (typeof example === 'string' && example !== real && Object.values<string>(sampleIds).includes(example))
      names.set(real, example);
    if (typeof example === 'object' && example !== null)
      for (const [key, below] of Object.entries(example)) walk(below, real?.[key]);
  };
  for (const [path, examples] of Object.entries(requestSamples(at)))
    walk(examples, document.paths[path].post.requestBody.content['application/json'].examples);
  for (const [path, values] of Object.entries(parameterSamples))
    for (const { name, example } of document.paths[path].get.parameters.filter((one: Json) => one.name !== undefined))
      walk(values[name], example);
  return names;
};

const instant = /\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d)?/g;
const dayMs = 86_400_000;

/** Moves times of the run to the recorded ones. What lies further ahead is the evening for which an order is. */
const shifted = (text: string, at: Date, deltaMs: number): string =>
  text
    .replaceAll(instant, (time, divider: string, fraction = '', zone = '') => {
      const offset = /^[+-]/.test(zone) ? Date.parse(`1970-01-01T00:00:00${zone}`) : 0;
      const ms = Date.parse(`${time.slice(0, 19).replace(' ', 'T')}${fraction}Z`);
      if (Math.abs(ms + offset - at.getTime()) > 3 * dayMs) return evening(divider, zone);
      return new Date(ms + deltaMs).toISOString().slice(0, 19).replace('T', divider) + fraction + zone;
    })
    .replaceAll(/(?<="(?:exp|iat)":)\d+/g, (seconds) => String(Number(seconds) + deltaMs / 1000));

const evening = (divider: string, zone: string): string =>
  `2026-09-01${divider}20:30:00${zone === 'Z' ? 'Z' : zone === '' ? '' : '+02:00'}`;

/** Without what differs from run to run: times, durations and the state of limits. */
export const comparable = (value: Json): Json =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(instant, 'TIME')
      .replaceAll(
        /(?<="(?:exp|iat|dns|connect|tls|first_byte|total_ms|quota|remaining|reset_seconds|expires_in)":)(?:\d+|null)/g,
        '0',
      )
      .replaceAll(/(?<="timings_ms":\{)[^}]*/g, ''),
  );
