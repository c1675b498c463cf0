/** The process that sends a notice is killed between the last byte of the mail and the answer of the mail server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { type MailServer, type ReceivedMail, startMailServer } from '../harness/mail-server.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let mail: MailServer;
let harness: PanelHarness;

beforeAll(async () => {
  mail = await startMailServer({ user: 'relay', password: 'of the relay' });
  harness = await startPanelHarness({ ORDERPASS_SMTP_URL: mail.url, ORDERPASS_SMTP_FROM: 'panel@example.com' });
});

afterAll(async () => {
  await harness?.close();
  await mail?.close();
});

const rows = async () =>
  (await harness.database.pool.query('select channel, attempts, outcome, due_at > now() as leased from panel.notices'))
    .rows;

const messageId = ({ raw }: ReceivedMail): string => /^Message-ID: (<\S+>)/im.exec(raw)?.[1] ?? '';

/** An administrator, whose forms it sends. */
const administrator = async () => {
  const cookie = await harness.cookieOf(await harness.user('admin'));
  const form = await (await fetch(`${harness.url}/panel/account/notices`, { headers: { cookie } })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(form)?.[1] ?? '';
  return async (path: string, fields: Record<string, string>): Promise<number> => {
    const answer = await fetch(`${harness.url}/panel${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: harness.url },
      body: new URLSearchParams({ csrf, ...fields }),
    });
    return answer.status;
  };
};

test('a notice whose sender is killed while the mail server holds its answer arrives once after the restart, with the same Message-ID', async () => {
  mail.holdAnswer(true);
  const post = await administrator();
  const soon = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  expect(await post(`/restaurants/${harness.restaurants[0]}/keys`, { name: 'Till', expires: soon })).toBe(200);
  expect(await post('/account/notices', { kind: 'key_ending', mail: 'on' })).toBe(303);
  await until(() => mail.unanswered.length > 0);
  await harness.program.kill();
  expect(await rows()).toEqual([{ channel: 'mail', attempts: 1, outcome: null, leased: true }]);
  mail.holdAnswer(false);
  const next = await startProgram(harness.settings);
  try {
    // Nothing is lost but time: the row is leased for two minutes, which the test does not wait for.
    expect(await rows()).toEqual([{ channel: 'mail', attempts: 1, outcome: null, leased: true }]);
    await harness.database.pool.query('update panel.notices set due_at = now()');
    await until(() => mail.mails.length > 0);
    await until(async () => (await rows())[0]?.outcome === 'sent');
    expect(await rows()).toMatchObject([{ channel: 'mail', attempts: 2, outcome: 'sent' }]);
    expect(mail.mails.map(({ subject }) => subject)).toEqual(['An API key ends within 7 days']);
    const [lost, arrived] = [mail.unanswered[0], mail.mails[0]] as [ReceivedMail, ReceivedMail];
    expect(messageId(lost)).toMatch(/^<[0-9a-f]{32}@\S+>$/);
    expect(messageId(arrived)).toBe(messageId(lost));
    expect(arrived.text).toBe(lost.text);
  } finally {
    await next.stop();
  }
});
