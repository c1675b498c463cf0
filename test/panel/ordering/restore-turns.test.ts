import { afterAll, beforeAll, expect, test } from 'vitest';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { until } from '../../support/until.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;

beforeAll(async () => {
  // No limit of rates meets the calls of this test.
  harness = await startPanelHarness({ ORDERPASS_RATE_BURST_UNITS: '10000', ORDERPASS_RATE_MINUTE_UNITS: '10000' });
});

afterAll(() => harness?.close());

const createClient = async (restuid: string): Promise<Record<string, string>> => {
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Till', '--restaurant', restuid],
  );
  return { 'x-client-id': client_id, 'x-client-secret': client_secret, 'content-type': 'application/json' };
};

/** Statements that wait for a lock. */
const waiting = async (): Promise<number> => {
  const { rows } = await harness.database.pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length;
};

test('A-729 menus that staff of a restaurant restore while an import of it runs leave connections for all other requests', async () => {
  const [restuid = '', other = ''] = harness.restaurants;
  const [headers, others] = [await createClient(restuid), await createClient(other)];
  await importsAnswer(harness.url, headers);
  for (const name of ['Marinara', 'Diavola']) {
    const products = [{ ext_id: 'P', category_ext_id: 'C', name, price: 8 }];
    const body = { pos_uid: 'till', update_mode: 'replace', categories: [{ ext_id: 'C', name: 'Pizze' }], products };
    const sent = await fetch(`${harness.url}/api/menu/import`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(sent.status, await sent.text()).toBe(200);
  }
  const place = `${harness.url}/panel/restaurants/${restuid}`;
  const cookie = await harness.cookieOf(await harness.user('owner'));
  const read = async (path: string): Promise<string> =>
    (await fetch(`${place}${path}`, { headers: { cookie } })).text();
  const token = /name="csrf" value="([^"]+)"/.exec(await read(''))?.[1] ?? '';
  const [, earlier = ''] = new Set((await read('/menu/imports')).match(/\/menu\/imports\/[\w-]+/g));
  const restore = (): Promise<Response> =>
    fetch(`${place}${earlier}/revert`, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ version: '2', csrf: token }) },
      headers: { cookie, origin: harness.url },
    });
  const holder = await harness.database.pool.connect();
  let asked: Promise<Response>[] = [];
  try {
    await holder.query('begin');
    await holder.query('select from ordering.menus where restuid = $1 for update', [restuid]);
    // More than there are connections.
    asked = Array.from({ length: 16 }, restore);
    // Those that may not wait are refused.
    const refused = await Promise.race(asked);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
    await until(async () => (await waiting()) > 0);
    for (let i = 0; i < 20; i += 1)
      expect((await fetch(`${harness.url}/api/menu/categories`, { headers: others })).status).toBe(200);
    // The others wait for their turn without a connection.
    await until(async () => (await waiting()) === 1);
  } finally {
    await holder.query('rollback');
    holder.release();
    await Promise.allSettled(asked);
  }
  const answers = (await Promise.all(asked)).map(({ status }) => status);
  // One restored it, and the others that had a turn found another version than they had seen.
  expect(new Set(answers)).toEqual(new Set([303, 503]));
  const { products } = (await (await fetch(`${harness.url}/api/menu/products`, { headers })).json()) as {
    products: { name: string }[];
  };
  expect(products.map(({ name }) => name)).toEqual(['Marinara']);
});
