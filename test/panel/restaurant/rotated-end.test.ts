/** The end of the new key where a key is rotated in the panel. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '#src/platform/clock.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';
import { signInVisitor, type Visitor } from '../harness/visitor.ts';

let harness: PanelHarness;
let owner: Visitor;
let restuid: string;
let keys: string;

beforeAll(async () => {
  harness = await startPanelHarness();
  owner = await signInVisitor(harness, 'owner');
  restuid = harness.restaurants[0] ?? '';
  keys = `/restaurants/${restuid}/keys`;
  // 14 hours ahead of UTC: the end of a day lies on the day before it in UTC.
  await harness.command('restaurant', 'set', '--restaurant', restuid, '--time-zone', 'Pacific/Kiritimati');
});

afterAll(() => harness?.close());

type Row = { keyId: string; expires: Date | null };

const keyRow = async (condition: string, value: string): Promise<Row | undefined> =>
  (
    await harness.database.pool.query(
      `select key_id as "keyId", expires from gateway.api_keys where ${condition} = $1`,
      [value],
    )
  ).rows[0];

const successorOf = (keyId: string) => keyRow('successor_of', keyId);

/** Its value in the form of the rotation. */
const offered = (text: string): string | undefined => /name="expires" value="([^"]*)"/.exec(text)?.[1];

const dayIn = (days: number): string => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);

test('A-586 the form of a rotation offers the last day of the old key, and the new key has the day that was sent or none', async () => {
  const lastDay = dayIn(20);
  await owner.post(keys, { name: 'Month', expires: lastDay });
  const old = await keyRow('name', 'Month');
  const rotate = `${keys}/${old?.keyId}/rotate`;
  expect(offered((await owner.get(rotate)).text)).toBe(lastDay);

  const past = await owner.post(rotate, { overlap: '1', expires: '2020-01-01' });
  expect([past.status, offered(past.text)]).toEqual([422, '2020-01-01']);
  expect(past.text).toContain('<option value="1" selected>');
  expect(past.text).toContain('Choose a day from today on');
  expect(await successorOf(old?.keyId ?? '')).toBeUndefined();

  const made = await owner.post(rotate, { overlap: '1', expires: lastDay });
  expect(made.text).toContain(`The last day of the new key is ${lastDay}.`);
  const second = await successorOf(old?.keyId ?? '');
  expect(second?.expires).toEqual(old?.expires);

  // The old key ends within the overlap now.
  expect(offered((await owner.get(rotate)).text)).toBe('');
  const endless = await owner.post(`${keys}/${second?.keyId}/rotate`, { overlap: '0', expires: '' });
  expect(endless.text).toContain('The new key does not expire.');
  const third = await successorOf(second?.keyId ?? '');
  expect(third?.expires).toBeNull();
  expect(offered((await owner.get(`${keys}/${third?.keyId}/rotate`)).text)).toBe('');
});
