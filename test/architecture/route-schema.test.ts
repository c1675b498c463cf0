/** The JSON Schema of route tables accepts and refuses what the program does, as far as single members go. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { routeFileSchema } from '#src/gateway/config.ts';
import { membersOf, schemaFile, schemaText } from './route-schema.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test(`${schemaFile} is what the code gives (npm run docs)`, () => {
  expect(read(schemaFile)).toBe(schemaText());
});

test('every member of the route table has a description', () => {
  const members = membersOf();
  expect(members.length).toBeGreaterThan(40);
  expect(members.filter(({ schema }) => (schema.description ?? '') === '').map(({ path }) => path)).toEqual([]);
});

test('an editor accepts the route table of the program and marks wrong members', () => {
  const validate = new Ajv2020({ strict: false, formats: { date: true } }).compile(routeFileSchema());
  const table = JSON.parse(read('config/routes.json')) as { routes: Record<string, unknown>[] };
  expect(validate(table), JSON.stringify(validate.errors)).toBe(true);
  const withRoute = (members: Record<string, unknown>) => ({
    routes: [{ id: 'a', path: '/a', upstream: 'b', ...members }],
  });
  expect(validate(withRoute({}))).toBe(true);
  for (const wrong of [
    { metod: 'GET' },
    { method: 'TRACE' },
    { access: 'open' },
    { timeouts: { bodyMs: 1 } },
    { id: 'A B' },
  ])
    expect([wrong, validate(withRoute(wrong))]).toEqual([wrong, false]);
});
