/** Reports of leaked credentials end them, from any sender of the value (interface 29). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tokenLengthMax } from '#src/gateway/access/bearer-tokens.ts';
import { readValue } from '#src/gateway/incident/leak/read-value.ts';
import { whileLocked } from '../../support/contention.ts';
import { root } from '../../support/program.ts';
import { makeProof, newProofKey } from '../../support/proofs.ts';
import { isWithinASecond, until } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Door,
  formOf,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';
import { openStoreLine } from '../harness/store-line.ts';

let harness: Harness;
let second: Door;

beforeAll(async () => {
  harness = await openHarness();
  second = await harness.openDoor();
});

afterAll(() => harness.close());

const path = '/api/oauth/report-leak';
const get = (headers: Headers, target = read, url = harness.url): Promise<Reply> =>
  sendRequest(url, 'GET', target, { headers });
const report = (fields: Record<string, string>, url = harness.url): Promise<Reply> => postToken(url, fields, {}, path);
const shown = ({ status, json, headers }: Reply) => {
  const { 'x-request-id': _id, date: _date, ...rest } = headers;
  return { status, json, headers: rest };
};
const reasonOf = async (holder: Headers, refused: Reply, url = harness.url): Promise<unknown> => {
  const { json } = await get(holder, `/api/whoami/denials/${String(refused.headers['x-request-id'])}`, url);
  return json.denial;
};
const eventsOf = async (credential: string) =>
  (
    await sql<{ action: string; actor: string; reason: string | null; details: string }>`
      select action, actor, reason, details from gateway.audit_events
      where credential_id = ${credential} or token_id = ${credential} order by at, chain, seq`.execute(
      harness.database.db,
    )
  ).rows;
const wholeAudit = async (): Promise<string> =>
  JSON.stringify((await sql`select * from gateway.audit_events`.execute(harness.database.db)).rows);

test('A-384 a reported API key, real or of a sandbox, is refused at once and within a second elsewhere; its holder reads why', async () => {
  await harness.credentials.createTenant('rst_test_leak');
  for (const tenant of [await harness.createTenant(), 'rst_test_leak']) {
    const { keyId, value } = await harness.credentials.createApiKey({ tenant, name: 'till' });
    const own = { 'x-api-key': value };
    expect([(await get(own)).status, (await get(own, read, second.url)).status]).toEqual([200, 200]);
    const reply = await report({ token: ` ${value}\n`, url: `https://git.example/a/b.env?token=${value}#L3` });
    expect([reply.status, reply.json]).toEqual([202, { received: true }]);
    const refused = await get(own);
    expect([refused.status, refused.json.error]).toEqual([401, 'INVALID_KEY']);
    await isWithinASecond(async () => (await get(own, read, second.url)).status, 401);
    expect(await reasonOf(own, refused)).toMatchObject({
      reason: 'leak_reported',
      hint: expect.stringContaining('reported as leaked'),
      detail: { reported_iso: expect.any(String) },
    });
    const events = (await eventsOf(keyId)).filter(({ action }) => !action.startsWith('request.'));
    expect(events.map(({ action, actor }) => [action, actor])).toEqual([
      ['key.created', 'system'],
      ['key.revoked', 'leak report'],
      ['leak.reported', 'leak report'],
    ]);
    expect(JSON.parse(events[2]?.details ?? '')).toEqual({ ended: true, url: 'https://git.example/a/b.env' });
    expect(await wholeAudit()).not.toContain(value);
    const [listed] = (await harness.credentials.listApiKeys(tenant)).filter(({ id }) => id === keyId);
    expect(listed).toMatchObject({ state: 'revoked', reason: 'ended by a leak report', actor: 'leak report' });
    // A second report changes and records nothing.
    await report({ token: value });
    expect((await eventsOf(keyId)).filter(({ action }) => !action.startsWith('request.'))).toHaveLength(3);
  }
});

test('a value is found in the line where it stood, and of a text with several values none ends', async () => {
  // A gateway of its own takes 30 reports of its own in a minute.
  const door = await harness.openDoor();
  const send = (token: string): Promise<Reply> => report({ token }, door.url);
  const look = async (headers: Headers): Promise<number> => (await get(headers, read, door.url)).status;
  const tenant = await harness.createTenant();
  const newKey = async (): Promise<string> => (await harness.credentials.createApiKey({ tenant, name: 'till' })).value;
  const [kept, other] = [await newKey(), await newKey()];
  expect((await send(`${kept} ${other}`)).json).toEqual({ received: true });
  for (const value of [kept, other]) expect(await look({ 'x-api-key': value })).toBe(200);
  for (const around of [
    (value: string) => `"${value}"`,
    (value: string) => `export API_KEY=${value} # till`,
    (value: string) => encodeURIComponent(`'${value}'`),
    (value: string) => value.replaceAll('_', '%5F'),
    (value: string) => `100 % ${value}`,
  ]) {
    const value = await newKey();
    await send(around(value));
    expect([around('…'), await look({ 'x-api-key': value })]).toEqual([around('…'), 401]);
  }
  const client = await harness.createClient([tenant]);
  const token = await tokenOf(harness.url, client);
  await send(`Authorization: Bearer ${token}`);
  expect(await look(bearer(token))).toBe(401);
  await send(JSON.stringify({ client_secret: client.client_secret }));
  expect(await look(clientHeaders(client))).toBe(401);
  await door.close();
});

/** A token with as many details as a token may have. */
const largestToken = async (url: string): Promise<string> => {
  const tenants = Array.from({ length: 58 }, (_, n) => `tenant_of_the_longest_token_${n + 10}`);
  for (const tenant of tenants) await harness.credentials.createTenant(tenant);
  const details = [{ type: 'orderpass_access', restaurants: tenants }];
  return tokenOf(url, await harness.createClient(tenants), { authorization_details: JSON.stringify(details) });
};

test('A-795 the largest access token is found in the line where it stood, and by the pattern of the guide', async () => {
  const door = await harness.openDoor();
  const token = await largestToken(door.url);
  const payload = token.split('.')[1] ?? '';
  expect(payload.length).toBeGreaterThan(3_000);
  expect((await get(bearer(token), '/api/whoami', door.url)).status).toBe(200);
  expect((await report({ token: `Authorization: Bearer ${token}` }, door.url)).json).toEqual({ received: true });
  expect((await get(bearer(token), '/api/whoami', door.url)).status).toBe(401);
  // Other members, such as audiences, may fill a token up to the length that is still read.
  const longest = token.replace(payload, payload.padEnd(payload.length + tokenLengthMax - token.length, 'A'));
  expect(longest).toHaveLength(tokenLengthMax);
  expect(readValue(`token=${longest}`)).toBe(longest);
  const page = readFileSync(join(root, 'src/app/reference/guide/secure/leaks.md'), 'utf8');
  const [, pattern = ''] = /^\| access token \| `([^`]+)`/m.exec(page) ?? [];
  expect(new RegExp(pattern).exec(`token=${longest}`)?.[0]).toBe(longest);
  await door.close();
});

test('A-384 a reported secret in its overlap ends with the tokens of its client; the new secret goes on', async () => {
  const old = await harness.createClient([await harness.createTenant()]);
  const made = await harness.credentials.rotateClientSecret(old.client_id, 24);
  const fresh = formOf({ clientId: old.client_id, ...made });
  const token = await tokenOf(harness.url, old);
  expect((await get(bearer(token))).status).toBe(200);
  await report({ token: old.client_secret, client_id: old.client_id });
  const byHeaders = await get(clientHeaders(old));
  expect([byHeaders.status, byHeaders.json.error]).toEqual([401, 'INVALID_AUTH']);
  const byToken = await get(bearer(token));
  expect([byToken.status, byToken.json.error]).toEqual([401, 'invalid_token']);
  // Its holder reads with the leaked secret and with the new one.
  for (const holder of [clientHeaders(old), clientHeaders(fresh)]) {
    expect(await reasonOf(holder, byHeaders)).toMatchObject({ reason: 'leak_reported' });
    expect(await reasonOf(holder, byToken)).toMatchObject({ reason: 'leak_reported' });
  }
  expect((await get(clientHeaders(old), '/api/whoami')).status).toBe(401);
  const tokenAnswer = await postToken(harness.url, { grant_type: 'client_credentials', ...pick(old) });
  expect([tokenAnswer.status, tokenAnswer.json.error]).toEqual([401, 'invalid_client']);
  expect((await get(clientHeaders(fresh))).status).toBe(200);
  // Tokens of the next two seconds are refused too, since a gateway may have issued one for the leaked secret.
  await until(async () => (await get(bearer(await tokenOf(second.url, fresh)))).status === 200);
  const secret = (await harness.credentials.showClient(old.client_id)).secrets.find(({ state }) => state === 'revoked');
  expect(secret).toMatchObject({ reason: 'ended by a leak report' });
});

test('A-384 a token request that waits beside the report of its secret gets no token that outlives the report', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const door = await harness.openDoor({ settings: { dpop: 'on' } });
  const key = newProofKey();
  const proof = (target: string, more: { token?: string } = {}): Promise<string> =>
    makeProof(key, {
      method: target === read ? 'GET' : 'POST',
      url: harness.url + target,
      now: harness.clock.now(),
      ...more,
    });
  const target = '/api/oauth/token';
  const fields = { grant_type: 'client_credentials', ...pick(client) };
  const dpop = await proof(target);
  const { status, json } = await whileLocked(
    harness.database.db,
    sql`lock table gateway.used_proofs in access exclusive mode`,
    1,
    () => postToken(door.url, fields, { dpop }),
    async () => {
      await report({ token: client.client_secret });
      // The request gets its token when the time within which tokens of its client are refused is over.
      harness.clock.move(3_000);
    },
  );
  expect([status, json.token_type]).toEqual([200, 'DPoP']);
  const token = String(json.access_token);
  const use = await get({ authorization: `DPoP ${token}`, dpop: await proof(read, { token }) }, read, door.url);
  expect([use.status, use.json.error]).toEqual([401, 'invalid_token']);
  await door.close();
});

test('A-384 a reported access token ends alone; one that was revoked or has expired stays ended', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const [leaked, other] = [await tokenOf(harness.url, client), await tokenOf(harness.url, client)];
  expect((await get(bearer(leaked), read, second.url)).status).toBe(200);
  expect((await report({ token: leaked })).status).toBe(202);
  const refused = await get(bearer(leaked));
  expect([refused.status, refused.json.error]).toEqual([401, 'invalid_token']);
  await expect.poll(async () => (await get(bearer(leaked), read, second.url)).status).toBe(401);
  expect(await reasonOf(clientHeaders(client), refused)).toMatchObject({ reason: 'leak_reported' });
  expect((await get(bearer(other))).status).toBe(200);
  const { jti } = JSON.parse(Buffer.from(leaked.split('.')[1] ?? '', 'base64url').toString()) as { jti: string };
  const actions = (await eventsOf(jti)).map(({ action }) => action).filter((action) => !action.startsWith('request.'));
  expect(actions).toEqual(['token.issued', 'token.revoked', 'leak.reported']);
  await report({ token: leaked });
  expect((await eventsOf(jti)).filter(({ action }) => action === 'leak.reported')).toHaveLength(1);
  expect((await get(bearer(other))).status).toBe(200);
  // Rows of tokens would stay for ever, and a client may get any number of tokens.
  const history = sql`select from gateway.credential_changes where kind = 'token'`;
  expect((await history.execute(harness.database.db)).rows).toEqual([]);
});

test('A-752 a repeated report of a key, a secret or a token raises no epoch and adds nothing to the feed of changes', async () => {
  // A gateway of its own takes 30 reports of its own in a minute.
  const door = await harness.openDoor();
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant]);
  const { value } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const state = async (): Promise<unknown> =>
    (
      await harness.database.pool.query(
        `select e.*, (select count(*) from gateway.credential_feed) as changes, (select count(*) from gateway.audit_events
           where action = 'leak.reported') as reports from gateway.credential_epoch e`,
      )
    ).rows;
  // The token before the secret, which ends all tokens of its client.
  for (const token of [value, await tokenOf(harness.url, client), client.client_secret]) {
    const before = await state();
    expect((await report({ token }, door.url)).status).toBe(202);
    const reported = await state();
    expect(reported).not.toEqual(before);
    for (let n = 0; n < 2; n += 1) expect((await report({ token }, door.url)).status).toBe(202);
    expect(await state()).toEqual(reported);
  }
  await door.close();
});

test('A-384 a token that was revoked before its report is denied as reported at every gateway, with the time of the report', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const doors = [harness.url, second.url];
  for (const token of [await tokenOf(harness.url, client), await tokenOf(harness.url, client)]) {
    await postToken(harness.url, { token, ...pick(client) }, {}, '/api/oauth/revoke');
    const reasonAt = async (url: string): Promise<unknown> =>
      reasonOf(clientHeaders(client), await get(bearer(token), read, url), url);
    for (const url of doors) {
      await isWithinASecond(async () => (await get(bearer(token), read, url)).status, 401);
      expect(await reasonAt(url)).toMatchObject({ reason: 'token_revoked' });
    }
    await report({ token });
    for (const url of doors) {
      const isReported = async (): Promise<boolean> => JSON.stringify(await reasonAt(url)).includes('"leak_reported"');
      await until(isReported);
      expect(await reasonAt(url)).toMatchObject({ detail: { reported_iso: expect.any(String) } });
    }
  }
});

test('A-384 the end of a token locks the chain of the audit before the epoch, as other changes do, so that they do not block each other', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const ends = [
    (token: string) => report({ token }),
    (token: string) => postToken(harness.url, { token, ...pick(client) }, {}, '/api/oauth/revoke'),
  ];
  for (const end of ends) {
    const token = await tokenOf(harness.url, client);
    const { status } = await whileLocked(
      harness.database.db,
      sql`select from gateway.audit_chains for update`,
      1,
      () => end(token),
      () => harness.database.pool.query('select from gateway.credential_epoch for update nowait'),
    );
    expect(Math.floor(status / 100)).toBe(2);
    expect((await get(bearer(token))).status).toBe(401);
  }
});

test('A-385 known and unknown values get one answer, at times that do not depend on the value', async () => {
  const { value } = await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'till' });
  const unknown = (await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'x' })).value;
  await sql`delete from gateway.api_keys where key_id = ${unknown.slice(0, 16)}`.execute(harness.database.db);
  const values = [value, unknown, `${value.slice(0, -1)}_`, 'password', 'eyJhbGciOiJFUzI1NiJ9.e30.AAAA'];
  const replies: { reply: Reply; ms: number }[] = [];
  for (const token of values) {
    const startedMs = performance.now();
    replies.push({ reply: await report({ token }), ms: performance.now() - startedMs });
  }
  const [first] = replies;
  expect(shown(first?.reply as Reply)).toMatchObject({ status: 202, json: { received: true } });
  for (const { reply, ms } of replies) {
    expect(shown(reply)).toEqual(shown(first?.reply as Reply));
    expect(ms).toBeGreaterThanOrEqual(395);
  }
});

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The format is public, so every sender can compute it. */
const withChecksum = (text: string): string => {
  let [rest, sum] = [crc32(text), ''];
  for (let i = 0; i < 6; i += 1) {
    sum = `${digits[rest % 62]}${sum}`;
    rest = Math.floor(rest / 62);
  }
  return text + sum;
};

test('A-613 the audit keeps no address that holds the value, or another credential, in whatever encoding', async () => {
  const tenant = await harness.createTenant();
  const other = await harness.credentials.createApiKey({ tenant, name: 'live' });
  const token = await tokenOf(harness.url, await harness.createClient([tenant]));
  const encode = (text: string): string => [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('');
  const urls: [(value: string) => string, string | null][] = [
    [(value) => `https://p.example/${value.replaceAll('_', '%5F')}`, null],
    [(value) => `https://p.example/a/${encode(value)}.env`, null],
    [(value) => `https://p.example/${encode(encode(value))}`, null],
    [(value) => `https://${value.replaceAll('_', '-')}.example/${value.toLowerCase()}`, null],
    [() => `https://p.example/${other.value}`, null],
    [() => `https://p.example/x-${encode(other.value)}`, null],
    [() => `https://p.example/${token}`, null],
    [() => 'https://p.example/100%/x', null],
    [() => 'https://p.example/caf%C3%A9/a%20b', 'https://p.example/caf%C3%A9/a%20b'],
  ];
  for (const [urlOf, kept] of urls) {
    const { keyId, value } = await harness.credentials.createApiKey({ tenant, name: 'till' });
    const url = urlOf(value);
    expect((await report({ token: value, url })).status).toBe(202);
    const reported = (await eventsOf(keyId)).find(({ action }) => action === 'leak.reported');
    expect([url, JSON.parse(reported?.details ?? '').url ?? null]).toEqual([url, kept]);
  }
});

test('A-385 a forged value with the id of a credential and a right checksum ends nothing', async () => {
  const key = await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'till' });
  const client = await harness.createClient([await harness.createTenant()]);
  expect(withChecksum(key.value.slice(0, -6))).toBe(key.value);
  for (const id of [key.keyId, client.secret_id]) {
    const forged = withChecksum(`${id}_${'A'.repeat(43)}`);
    expect((await report({ token: forged })).status).toBe(202);
  }
  expect((await get({ 'x-api-key': key.value })).status).toBe(200);
  expect((await get(clientHeaders(client))).status).toBe(200);
});

test('A-385 a value with a wrong checksum or signature is answered without the store', async () => {
  const { value } = await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'till' });
  const line = await openStoreLine(harness.database.url);
  const door = await harness.openDoor({ pool: line.pool, runsServices: false });
  await line.cut();
  const wrong = value.slice(0, -6) + (value.endsWith('000000') ? '000001' : '000000');
  expect((await report({ token: wrong }, door.url)).status).toBe(202);
  expect((await report({ token: 'eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.e30.AAAA' }, door.url)).status).toBe(202);
  const refused = await report({ token: value }, door.url);
  expect([refused.status, refused.json.error]).toEqual([503, 'temporarily_unavailable']);
  await door.close();
  await line.close();
});

test('A-386 reports are bounded by address, size and form, and can be off', async () => {
  const door = await harness.openDoor();
  const send = (fields: Record<string, string>): Promise<Reply> => report(fields, door.url);
  const replies = await Promise.all(Array.from({ length: 30 }, () => send({ token: 'guess' })));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]));
  const beyond = await send({ token: 'guess' });
  expect([beyond.status, beyond.json.error]).toEqual([429, 'slow_down']);
  expect(Number(beyond.headers['retry-after'])).toBeGreaterThan(0);
  const other = await harness.openDoor();
  const missing = await report({ url: 'https://git.example' }, other.url);
  expect([missing.status, missing.json.code]).toEqual([400, 'MISSING_PARAMETER']);
  expect((await report({ token: 'x'.repeat(70_000) }, other.url)).status).toBe(413);
  expect((await postToken(other.url, { token: 'x' }, {}, `${path}?token=x`)).status).toBe(400);
  expect((await sendRequest(other.url, 'GET', path)).status).toBe(405);
  const off = await harness.openDoor({ settings: { leak_reports: 'off', leak_reports_github: 'on' } });
  for (const target of [path, `${path}/github`]) {
    expect((await postToken(off.url, { token: 'x' }, {}, target)).json.error).toBe('INVALID_ACTION');
  }
});

test('A-384 the patterns of the page for security teams find what is issued, whole, and no other kind', async () => {
  const page = readFileSync(join(root, 'src/app/reference/guide/secure/leaks.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ([a-z A-Z]+) \| `(\\b[^`]+)` \|/gm)];
  const patterns = new Map(rows.map(([, name = '', pattern = '']) => [name, new RegExp(pattern, 'g')]));
  const client = await harness.createClient([await harness.createTenant()]);
  await harness.credentials.createTenant('rst_test_page');
  const ofSandbox = await harness.createClient(['rst_test_page']);
  const keyOf = async (tenant: string) => (await harness.credentials.createApiKey({ tenant, name: 'x' })).value;
  const issued: Record<string, string[]> = {
    'API key': [await keyOf(await harness.createTenant()), await keyOf('rst_test_page')],
    'client secret': [client.client_secret, ofSandbox.client_secret],
    'access token': [await tokenOf(harness.url, client), await tokenOf(harness.url, ofSandbox)],
    'client id': [client.client_id, ofSandbox.client_id],
    'webhook secret': [`whsec_${Buffer.alloc(32, 9).toString('base64')}`],
  };
  expect([...patterns.keys()]).toEqual(Object.keys(issued));
  for (const [name, values] of Object.entries(issued)) {
    for (const value of values) {
      const text = `KEY="${value}"; // ${value.slice(0, -1)}`;
      for (const [kind, pattern] of patterns) {
        const found = [...text.matchAll(pattern)].map(([match]) => match);
        if (kind === name) expect([kind, found[0]]).toEqual([kind, value]);
        else expect([kind, name, found]).toEqual([kind, name, []]);
      }
    }
  }
});
