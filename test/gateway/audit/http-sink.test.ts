/** One request of the HTTP sink. The other tests of the sinks use a real receiver: they are about its state, its pace and its silence. */
import nock from 'nock';
import { afterAll, afterEach, expect, test } from 'vitest';
import { createHttpSink } from '#src/gateway/audit/sinks/sinks.ts';

const origin = 'https://siem.example';
const sink = createHttpSink({ url: `${origin}/audit`, readAuthorization: () => 'Splunk secret', timeoutMs: 200 });
const never = new AbortController().signal;

afterEach(() => nock.cleanAll());
afterAll(() => nock.restore());

const receiver = () => nock(origin, { reqheaders: { authorization: 'Splunk secret' } }).post('/audit', '{"seq":1}\n');

test('the lines are sent as they are, as NDJSON and with the authorization', async () => {
  const taken = receiver().matchHeader('content-type', 'application/x-ndjson').reply(204);
  await sink.send('{"seq":1}\n', never);
  expect(taken.isDone()).toBe(true);
});

test.each([400, 401, 404, 429, 500, 503])('status %i means that nothing was taken', async (status) => {
  receiver().reply(status);
  await expect(sink.send('{"seq":1}\n', never)).rejects.toThrow(`answered ${status}`);
});

test('a redirect means that nothing was taken, and neither audit nor authorization is sent on', async () => {
  const elsewhere = nock('https://elsewhere.example').post('/').reply(204);
  receiver().reply(307, undefined, { location: 'https://elsewhere.example/' });
  await expect(sink.send('{"seq":1}\n', never)).rejects.toThrow();
  expect(elsewhere.isDone()).toBe(false);
});

test('a receiver that cannot be reached has taken nothing', async () => {
  receiver().replyWithError(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  await expect(sink.send('{"seq":1}\n', never)).rejects.toThrow();
});

test('the end of the process ends the request', async () => {
  receiver().reply(204);
  const ended = new AbortController();
  const sent = sink.send('{"seq":1}\n', ended.signal);
  ended.abort();
  await expect(sent).rejects.toThrow();
});
