/** What is refused, and what is wrong with the audit, in the language of the viewer: whatever else speaks English. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultCodes, faultStatus } from '#src/contract/fault.ts';
import { auditProblems } from '#src/gateway/audit/chain/problem.ts';
import { textsOf } from '#src/panel/texts/texts.ts';
import { type HarnessUser, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let admin: HarnessUser;
let cookie: string;
let token: string;

const ask = async (path: string, init: RequestInit = {}) => {
  const headers = { cookie, origin: harness.url, 'x-csrf-token': token, ...(init.headers as Record<string, string>) };
  const answer = await fetch(`${harness.url}/panel${path}`, { ...init, headers, redirect: 'manual' });
  const text = (await answer.text()).replaceAll('&#39;', "'");
  return { status: answer.status, main: /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? '' };
};

const post = (path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  ask(path, { method: 'POST', body: new URLSearchParams(fields), headers });

beforeAll(async () => {
  harness = await startPanelHarness();
  admin = await harness.user('admin');
  cookie = await harness.cookieOf(admin);
  token = '';
  const first = await fetch(`${harness.url}/panel/account`, { headers: { cookie } });
  token = /name="csrf" value="([^"]+)"/.exec(await first.text())?.[1] ?? '';
  expect((await post('/language', { language: 'it', csrf: token })).status).toBe(303);
});

afterAll(() => harness?.close());

/** Words that only an English sentence has. */
const english = /\b(the|is|are|not|must|was|already|disabled|field|form|choose|there)\b/i;

/** Without markup, ids and what the page is asked for. */
const wordsOf = (main: string): string =>
  main.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\b(req|rst|usr|whe)_\w+|https?:\/\/\w\S*/g, '');

test('refusals are shown in Italian, with the more precise text of the page where there is one', async () => {
  const [restuid = ''] = harness.restaurants;
  const of = `/restaurants/${restuid}`;
  const made = await post(`${of}/webhooks`, { url: 'http://127.0.0.1:2/hook', kinds: 'orders' });
  const endpoint = /whe_\w+/.exec(made.main)?.[0] ?? '';
  const rotate = { overlap: '24' };
  expect((await post(`${of}/webhooks/${endpoint}/rotate`, rotate)).status).toBe(200);
  const invited = await harness.command('user', 'create', '--email', 'invited@example.com', '--role', 'support');
  const { frame, users, restaurant } = textsOf.it;
  const refused = (code: Parameters<typeof frame.refused>[0]) => frame.refused(code, '');
  for (const [asked, status, text] of [
    [post(`/users/${admin.userId}/disable`), 409, users.notYourself],
    [post(`/users/${invited.user_id}/remove-totp`), 409, refused('CONFLICT')],
    [post(`${of}/webhooks/${endpoint}/rotate`, rotate), 409, refused('CONFLICT')],
    [post(`${of}/webhooks/${endpoint}/rotate`, { overlap: '7' }), 400, restaurant.keys.problems.overlap],
    [post(`${of}/notifications`, { kind: 'none', on: '1' }), 400, refused('VALIDATION_ERROR')],
    [post(`${of}/keys`, { name: 'a\0b' }), 400, refused('VALIDATION_ERROR')],
    [post(`${of}/keys`, { name: 'x'.repeat(100_000) }), 413, refused('PAYLOAD_TOO_LARGE')],
    [post(`${of}/keys`, {}, { 'content-type': 'text/plain' }), 415, refused('UNSUPPORTED_MEDIA_TYPE')],
    [post(`${of}/webhooks`, { url: 'ftp://x.example/', kinds: 'orders' }), 422, restaurant.webhooks.problems.url('')],
  ] as const) {
    const answer = await asked;
    expect([answer.status, wordsOf(answer.main)], text).toEqual([status, expect.stringContaining(text)]);
    expect(wordsOf(answer.main)).not.toMatch(english);
  }
  for (const code of faultCodes.filter((one) => faultStatus(one) < 500))
    expect(frame.refused(code, 'There is a text'), code).not.toMatch(english);
});

test('every result of a verification is shown in Italian, also an unknown one', async () => {
  const show = async (problem: string, chain: number, seq: number | null): Promise<string> => {
    await harness.database.pool.query('delete from gateway.audit_verifications');
    await harness.database.pool.query(
      `insert into gateway.audit_verifications (actor, started, touched, finished, problem, problem_chain, problem_seq)
       values ('cli:test', now(), now(), now(), $1, $2, $3)`,
      [problem, chain, seq],
    );
    const { status, main } = await ask('/security/integrity');
    expect(status).toBe(200);
    return wordsOf(main);
  };
  const { problems, upTo, broken } = textsOf.it.security.integrity;
  for (const [kind, words] of Object.entries(auditProblems)) {
    const page = await show(kind === 'endMissing' ? `${words} 17 at least` : words, 3, 9);
    const text = problems[kind as keyof typeof auditProblems] + (kind === 'endMissing' ? upTo('17') : '');
    expect(page).toContain(broken('3-9', text));
    expect(page).not.toMatch(english);
  }
  expect(await show('something new is wrong', 3, null)).toContain(broken('3', problems.other));
});
