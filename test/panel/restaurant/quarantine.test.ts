/** What an owner and support can do with a key in quarantine. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCredentials } from '#src/gateway/index.ts';
import { createDatabase } from '#src/platform/db/pool.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { until } from '../../support/until.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';
import { signInVisitor, type Visitor } from '../harness/visitor.ts';

let harness: PanelHarness;
let owner: Visitor;
let support: Visitor;
let keys: string;

beforeAll(async () => {
  harness = await startPanelHarness();
  owner = await signInVisitor(harness, 'owner');
  support = await signInVisitor(harness, 'support');
  keys = `/restaurants/${harness.restaurants[0]}/keys`;
});

afterAll(() => harness?.close());

const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${harness.url}/api/whoami`, { headers: { 'x-api-key': key } })).status;

const quarantinedKey = async (name: string) => {
  const { key_id: id = '', api_key: value = '' } = await harness.command(
    ...['key', 'create', '--restaurant', harness.restaurants[0] ?? '', '--name', name],
  );
  await harness.command('key', 'quarantine', '--key-id', id, '--reason', 'calls from two countries');
  return { id, value };
};

const lives = async (id: string): Promise<unknown[]> =>
  (
    await harness.database.pool.query(
      `select expires, (select count(*)::int from gateway.api_keys where successor_of = $1) as successors
       from gateway.api_keys where key_id = $1`,
      [id],
    )
  ).rows;

test('A-541 an owner cannot end the quarantine of a key by a rotation, and support can', async () => {
  const { id, value } = await quarantinedKey('Till');
  const rotate = `${keys}/${id}/rotate`;
  const list = async ({ get }: Visitor) => (await get(keys)).text;
  expect(await list(owner)).not.toContain(rotate);
  for (const answer of [await owner.get(rotate), await owner.post(rotate, { overlap: '24' })]) {
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('Support has to lift the quarantine');
  }
  expect(await lives(id)).toEqual([{ expires: null, successors: 0 }]);

  expect(await list(support)).toContain(rotate);
  expect((await support.get(rotate)).text).toContain('its calls stay refused until the quarantine is lifted');
  const made = await support.post(rotate, { overlap: '24' });
  const fresh = /opk_\w+_\w+/.exec(made.text)?.[0] ?? '';
  expect(await statusWith(fresh)).toBe(200);
  await until(async () => (await statusWith(value)) === 403);
});

test('A-541 a quarantine that begins while an owner rotates is not ended', async () => {
  const { id } = await quarantinedKey('Kitchen');
  const credentials = createCredentials({
    db: createDatabase(harness.database.pool),
    box: createSecretBox(Buffer.alloc(32, 3)),
    clock: { now: () => new Date() },
    actor: 'panel:usr_owner',
  });
  // The page looked at the key before.
  await expect(credentials.rotateApiKey(id, 24, { refuseQuarantined: true })).rejects.toMatchObject({
    code: 'CONFLICT',
  });
  expect(await lives(id)).toEqual([{ expires: null, successors: 0 }]);
});
