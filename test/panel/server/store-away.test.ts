/** What the panel says while its store cannot be reached. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { type PanelInProcess, startPanel } from '../harness/panel-in-process.ts';

let panel: PanelInProcess;

beforeAll(async () => {
  panel = await startPanel({}, 25_000, `postgresql://unknown@127.0.0.1:${await freePort()}/none`);
});

afterAll(() => panel?.close());

test('A-810 without a store pages ask to come back later, with Retry-After, public pages work, and the reason is not shown', async () => {
  const visitor = panel.visitor();
  visitor.cookies.set('__Host-orderpass', 'x'.repeat(43));
  const answer = await visitor.get('/panel/account');
  expect([answer.status, answer.retryAfter]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
  expect(answer.text).toContain('Not available right now');
  expect(answer.text).not.toMatch(/postgres|econn|127\.0\.0\.1/i);
  expect((await panel.visitor().get('/panel/sign-in')).status).toBe(200);
  const posted = await panel.visitor().post('/panel/sign-in', { email: 'a@b.example', password: 'x' }, '');
  expect([posted.status, posted.retryAfter]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
});
