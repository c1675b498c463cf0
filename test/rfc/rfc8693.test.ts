/**
 * RFC 8693. Not applicable:
 * - 1.1, 2.1 delegation, 4.1 act, 4.4 may_act: a client acts for itself, and actor tokens are refused.
 * - 2.1 subject tokens of other types (SAML, ID tokens, refresh tokens): tokens of this server only.
 * - 2.2.1 refresh_token: there are none.
 * - 4.2, 4.3 scope and client_id: claims of every token here.
 */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply } from '../gateway/harness/public-door.ts';
import {
  accessTokenType,
  detail,
  exchangeGrant,
  menus,
  type NarrowDoor,
  openNarrowDoor,
  reports,
} from '../gateway/oauth/narrow/narrow-door.ts';
import { makeProof, newProofKey, type ProofKey } from '../support/proofs.ts';
import { nowSeconds } from './rfc-harness.ts';

let door: NarrowDoor;

beforeAll(async () => {
  door = await openNarrowDoor({ dpop: 'on' });
});

afterAll(() => door?.close());

const got = (reply: Reply): string => {
  expect([reply.status, reply.json.error_description]).toEqual([200, undefined]);
  return String(reply.json.access_token);
};

const expectRefused = (reply: Reply, error: string, pointer?: string): void => {
  expect([reply.status, reply.json.error, reply.json.access_token]).toEqual([400, error, undefined]);
  if (pointer !== undefined) expect(reply.json.errors).toEqual([expect.objectContaining({ pointer })]);
};

test('A-397 RFC 8693 2.2.1: the answer has the issued type, and the token the rights of the subject token', async () => {
  const parent = await door.tokenOf(undefined, { scope: 'read:orders read:menu' });
  const reply = await door.exchange(parent);
  expect(reply.json).toMatchObject({
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    scope: 'read:orders read:menu',
  });
  expect(reply.headers['cache-control']).toBe('no-store');
  const { jti, iat, exp } = decodeJwt(parent);
  const child = decodeJwt(got(reply));
  expect(child).toMatchObject({ ancestors: [jti], ancestors_iat: iat, scope: 'read:orders read:menu', aud: [origin] });
  expect(child.jti).not.toBe(jti);
  expect(child.exp).toBeLessThanOrEqual(exp ?? 0);
  expect((await door.call(got(reply), 'GET', '/api/orders/list')).status).toBe(200);
});

test('A-397 RFC 8693 2.1: scopes, restaurants, operations, services and the lifetime can shrink, in one request', async () => {
  const parent = await door.tokenOf([detail({ restaurants: ['rst_1', 'rst_2'], actions: ['read'] })]);
  const wish = { operations: ['orders.list', 'reports.day'], restaurants: ['rst_2'] };
  const fields = { scope: 'read:orders', authorization_details: JSON.stringify([detail(wish)]), expires_in: '60' };
  const reply = await door.exchange(parent, { ...fields, resource: reports });
  expect(reply.json).toMatchObject({
    scope: 'read:orders',
    authorization_details: [detail({ restaurants: ['rst_2'], operations: wish.operations, actions: ['read'] })],
  });
  const token = got(reply);
  const { exp = 0, aud } = decodeJwt(token);
  expect([aud, reply.json.expires_in]).toEqual([reports, 60]);
  expect(Math.abs(exp - nowSeconds() - 60)).toBeLessThan(10);
  expect((await door.call(token, 'GET', '/reports/rst_2')).status).toBe(200);
  expect(door.tenantsSeen()).toEqual(['rst_2']);
  const statuses = [
    await door.call(token, 'POST', '/reports/rst_2'),
    await door.call(token, 'GET', '/reports/rst_1'),
    await door.call(token, 'GET', '/api/orders/list'),
  ].map(({ status }) => status);
  expect(statuses).toEqual([403, 403, 401]);
});

test('A-397 RFC 8693 2.2.2: a wish that is wider than the subject token is refused with the error of its kind', async () => {
  const details = [detail({ restaurants: ['rst_1'], operations: ['orders.list', 'orders.get'], actions: ['read'] })];
  const parent = got(
    await door.ask({ authorization_details: JSON.stringify(details), scope: 'read:orders', resource: reports }),
  );
  expectRefused(await door.exchange(parent, { scope: 'read:orders read:menu' }), 'invalid_scope', 'scope');
  for (const resource of [menus, origin, `${origin}/api`, 'https://elsewhere.example'])
    expectRefused(await door.exchange(parent, { resource }), 'invalid_target', 'resource');
  for (const members of [
    { restaurants: ['rst_2'] },
    { restaurants: ['rst_1', 'rst_2'] },
    { operations: ['menu.products'] },
    { operations: ['orders.list', 'order.create'] },
    { actions: ['write'] },
    { actions: ['read', 'POST'] },
  ]) {
    const authorization_details = JSON.stringify([detail({}), detail(members)]);
    expectRefused(
      await door.exchange(parent, { authorization_details }),
      'invalid_authorization_details',
      'authorization_details/1',
    );
  }
  // Left out, everything stays as it was: nothing comes back to the width of the client.
  const child = decodeJwt(got(await door.exchange(parent)));
  expect([child.aud, child.scope, child.authorization_details]).toEqual([reports, 'read:orders', details]);
});

test('A-397 the new token never outlives the subject token, whatever lifetime is wanted', async () => {
  const short = got(await door.exchange(await door.tokenOf(), { expires_in: '30' }));
  const end = decodeJwt(short).exp ?? 0;
  for (const more of [{}, { expires_in: '3600' }, { expires_in: '999999999' }]) {
    const reply = await door.exchange(short, more);
    expect(decodeJwt(got(reply)).exp).toBeLessThanOrEqual(end);
    expect(reply.json.expires_in).toBeLessThanOrEqual(30);
  }
  for (const expires_in of ['0', '-1', '1.5', 'soon', '1e3'])
    expectRefused(await door.exchange(short, { expires_in }), 'invalid_request', 'expires_in');
});

test('A-397 RFC 8693 2.2.2: a subject token that is not a live one of the client is invalid_request, with one text', async () => {
  const own = await door.tokenOf();
  const revoked = await door.tokenOf();
  await door.post('revoke', { token: revoked, ...door.client });
  const foreign = await door.post('token', { grant_type: 'client_credentials', ...door.other });
  const replies: Reply[] = [];
  for (const token of [
    'garbage',
    `${own.slice(0, -4)}AAAA`,
    revoked,
    String(foreign.json.access_token),
    door.client.client_secret,
  ])
    replies.push(await door.exchange(token));
  for (const reply of replies) {
    expectRefused(reply, 'invalid_request', 'subject_token');
    expect(reply.json.error_description).toBe(replies[0]?.json.error_description);
  }
  const byOther = { grant_type: exchangeGrant, subject_token: own, subject_token_type: accessTokenType };
  expectRefused(await door.post('token', { ...byOther, ...door.other }), 'invalid_request', 'subject_token');
});

test('RFC 8693 2.1: the client authenticates as for every token', async () => {
  const subject = {
    grant_type: exchangeGrant,
    subject_token: await door.tokenOf(),
    subject_token_type: accessTokenType,
  };
  const { client_id } = door.client;
  for (const as of [{}, { client_id }, { client_id, client_secret: 'ops_wrong' }]) {
    const reply = await door.post('token', { ...subject, ...as });
    expect([reply.status, reply.json.error]).toEqual([401, 'invalid_client']);
  }
});

test('RFC 8693 2.1 and 3: other types of tokens and actors are refused, with the name of the field', async () => {
  const token = await door.tokenOf();
  const idToken = 'urn:ietf:params:oauth:token-type:id_token';
  expectRefused(await door.exchange(token, { subject_token_type: idToken }), 'invalid_request', 'subject_token_type');
  expectRefused(await door.exchange(token, { subject_token_type: '' }), 'invalid_request', 'subject_token_type');
  expectRefused(await door.exchange('', {}), 'invalid_request', 'subject_token');
  expectRefused(
    await door.exchange(token, { requested_token_type: idToken }),
    'invalid_request',
    'requested_token_type',
  );
  expectRefused(
    await door.exchange(token, { actor_token: token, actor_token_type: accessTokenType }),
    'invalid_request',
    'actor_token',
  );
  expectRefused(await door.exchange(token, { audience: 'reports' }), 'invalid_target', 'audience');
  got(await door.exchange(token, { requested_token_type: accessTokenType }));
});

test('RFC 8693: the metadata names the grant', async () => {
  const answer = await fetch(`${door.door.url}/.well-known/oauth-authorization-server`);
  expect(await answer.json()).toMatchObject({ grant_types_supported: ['client_credentials', exchangeGrant] });
});

const tokenUrl = `${origin}/api/oauth/token`;
const proofOf = async (key: ProofKey): Promise<{ dpop: string }> => ({
  dpop: await makeProof(key, { method: 'POST', url: tokenUrl, now: new Date() }),
});

test('A-398 a bound token is exchanged with a proof of its key alone, and what comes of it is bound to that key', async () => {
  const [key, another] = [newProofKey(), newProofKey()];
  const parent = got(await door.ask({}, await proofOf(key)));
  expectRefused(await door.exchange(parent), 'invalid_dpop_proof');
  expectRefused(await door.exchange(parent, {}, await proofOf(another)), 'invalid_dpop_proof');
  const reply = await door.exchange(parent, { scope: 'read:orders' }, await proofOf(key));
  expect(reply.json.token_type).toBe('DPoP');
  const child = got(reply);
  expect(decodeJwt(child).cnf).toEqual(decodeJwt(parent).cnf);
  expect((await door.call(child, 'GET', '/api/orders/list')).status).toBe(401);
  const about = { method: 'GET', url: `${origin}/api/orders/list`, now: new Date(), token: child };
  const used = await door.call(child, 'GET', '/api/orders/list', {
    authorization: `DPoP ${child}`,
    dpop: await makeProof(key, about),
  });
  expect(used.status).toBe(200);
  expectRefused(await door.exchange(child), 'invalid_dpop_proof');
});

test('A-398 an unbound token may become a bound one, and stays bound from there on', async () => {
  const key = newProofKey();
  const child = got(await door.exchange(await door.tokenOf(), {}, await proofOf(key)));
  expect(decodeJwt(child).cnf).toEqual({ jkt: expect.any(String) });
  expectRefused(await door.exchange(child), 'invalid_dpop_proof');
});
