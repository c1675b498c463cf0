/** The document in the recommended rules of Redocly. Other linters run by hand: test/README.md. */
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGatewayAlone } from '../gateway-alone.ts';

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;

beforeAll(async () => {
  gateway = await startGatewayAlone();
});

afterAll(() => gateway?.stop());

test('A-347 Redocly finds no error in the document', async () => {
  const source = await (await fetch(`${gateway.url}/api/openapi.json`)).text();
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  const errors = problems.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});
