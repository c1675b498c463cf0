/** The JSON Schema of route tables, for editors that know only the address of a gateway. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routeFileSchema } from '#src/gateway/config.ts';
import { startGatewayAlone } from './gateway-alone.ts';

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;

beforeAll(async () => {
  gateway = await startGatewayAlone();
});

afterAll(() => gateway?.stop());

test('A-242 the schema of the route table is served without a credential', async () => {
  const answer = await fetch(`${gateway.url}/docs/routes.schema.json`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/schema+json']);
  expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(routeFileSchema())));
});
