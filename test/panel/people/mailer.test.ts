/** The time that a mail server has. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createMailer } from '#src/staff/mail/mailer.ts';
import { until } from '../../support/until.ts';
import { startMailServer } from '../harness/mail-server.ts';

const log = pino({ level: 'silent' });
const mail = { to: 'ada@example.com', subject: 'Hello', text: 'Hello' };

test('the connection to a server that never ends an answer is closed when the time of the mail is over', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket.write('220 here\r\n');
    socket.once('data', () => {
      timer = setInterval(() => socket.write('250-one moment\r\n'), 200);
    });
    socket
      .on('error', () => undefined)
      .on('close', () => {
        clearInterval(timer);
        sockets.delete(socket);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const mailer = createMailer({ smtp_url: `smtp://127.0.0.1:${port}`, smtp_from: 'shop@example.com' }, log);
  const sending = mailer?.send({ ...mail, waitMs: 3_000 });
  await until(() => sockets.size === 1);
  expect(await sending).toBe('failed');
  await until(() => sockets.size === 0);
});

test('a server that answers late but within the time of the mail has taken it, and the end of a worker ends the wait', async () => {
  const server = await startMailServer({ user: 'shop', password: 'secret' });
  onTestFinished(() => server.close());
  const mailer = createMailer({ smtp_url: server.url, smtp_from: 'shop@example.com' }, log);
  server.holdAnswer(true);
  const late = mailer?.send({ ...mail, waitMs: 120_000 });
  await until(() => server.unanswered.length === 1);
  // Longer than a page waits for the end of a silence.
  await new Promise((resolve) => setTimeout(resolve, 9_000));
  server.answerHeld();
  expect(await late).toBe('sent');
  const stopping = new AbortController();
  const cut = mailer?.send({ ...mail, waitMs: 120_000, signal: stopping.signal });
  await until(() => server.unanswered.length === 2);
  stopping.abort();
  expect(await cut).toBe('failed');
});

test('a page mails its link while notices wait for a server that gives no answer', async () => {
  const server = await startMailServer({ user: 'shop', password: 'secret' });
  onTestFinished(() => server.close());
  const mailer = createMailer({ smtp_url: server.url, smtp_from: 'shop@example.com' }, log);
  server.holdAnswer(true);
  const stopping = new AbortController();
  const notices = Array.from({ length: 8 }, () => mailer?.send({ ...mail, waitMs: 120_000, signal: stopping.signal }));
  await until(() => server.unanswered.length === 4);
  server.holdAnswer(false);
  expect(await mailer?.send(mail)).toBe('sent');
  stopping.abort();
  expect(await Promise.all(notices)).toEqual(Array(8).fill('failed'));
});
