/**
 * Hands plain-text mail to one SMTP server. Each mail has a connection of its own, so a restarted server is met afresh. The log
 * gets the code of a failure and never an address, a text or an answer of the server, which may repeat them.
 */
import { createTransport } from 'nodemailer';
import { minuteMs } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSemaphore } from '#src/platform/sharing/semaphore.ts';
import type { MailSettings } from './mail-settings.ts';

type Mail = {
  to: string;
  subject: string;
  text: string;
  /** For the Message-ID, as `local@host`: two copies of a mail have the same. Default: a new one. */
  id?: string;
  /** Time that the server has, from the connection to its answer. Default: 15 s, for which a page waits. */
  waitMs?: number;
  /** Ends the attempt. */
  signal?: AbortSignal;
};

export type Mailer = {
  /**
   * Never rejects. `failed`: the server refused the mail, was not reached or did not answer in time, or too many mails wait. A mail
   * whose answer did not come in time may arrive all the same (RFC 5321 section 4.5.3.2.6).
   */
  send(mail: Mail): Promise<'sent' | 'failed'>;
};

const secondMs = 1_000;
/** Of each sort of mail, of which a sender that waits for nothing should hand over no more at once. */
export const atOnceMax = 4;
const waitingMax = 100;
const waitMsMax = 20 * secondMs;
const silenceMsMax = 8 * secondMs;
const sendMsMax = 15 * secondMs;

/** For mails that nothing waits for: servers that look through a mail answer late, and a copy would be sent else. */
export const lateAnswerMs = minuteMs;

const loopbackHosts = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Undefined when no mail server is configured. */
export const createMailer = (
  { smtp_url: address, smtp_from: from }: MailSettings,
  log: Pick<Logger, 'warn'>,
): Mailer | undefined => {
  if (address === undefined || from === undefined) return undefined;
  const options = transportOf(new URL(address));
  const bounds = { atOnceMax, waitingMax, waitMsMax };
  // Mails that may take a minute must not keep back those for which a page waits.
  const [paged, late] = [createSemaphore(bounds), createSemaphore(bounds)];
  const deliver = async ({ to, subject, text, id, waitMs = sendMsMax, signal }: Mail): Promise<void> => {
    // Each phase until the mail has left has its own bound; the signal bounds all and closes the connection.
    const transport = createTransport({ ...options, socketTimeout: waitMs });
    try {
      const headers = { 'auto-submitted': 'auto-generated' };
      const mail = {
        from,
        to: { name: '', address: to },
        subject,
        text,
        headers,
        ...(id === undefined ? undefined : { messageId: `<${id}>` }),
        signal: AbortSignal.any([AbortSignal.timeout(waitMs), ...(signal === undefined ? [] : [signal])]),
      };
      await transport.sendMail(mail);
    } finally {
      transport.close();
    }
  };
  return {
    send: async (mail) => {
      const queue = mail.waitMs === undefined ? paged : late;
      const release = await queue.acquire(mail.signal ?? new AbortController().signal);
      if (release === undefined) {
        log.warn({ reason: 'queue full' }, 'a mail was not sent');
        return 'failed';
      }
      try {
        await deliver(mail);
        return 'sent';
      } catch (error) {
        log.warn({ reason: codeOf(error) }, 'a mail was not sent');
        return 'failed';
      } finally {
        release();
      }
    },
  };
};

const transportOf = (url: URL) => {
  const secure = url.protocol === 'smtps:';
  const isPlain = loopbackHosts.has(url.hostname) || url.searchParams.get('starttls') === 'off';
  return {
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    // Without this a server, or a stranger on the way, that offers no STARTTLS would get password and links in the clear.
    requireTLS: !secure && !isPlain,
    ignoreTLS: !secure && isPlain,
    ...(url.username === ''
      ? undefined
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    connectionTimeout: silenceMsMax,
    greetingTimeout: silenceMsMax,
    dnsTimeout: silenceMsMax,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
};

/** Such as EAUTH or ECONNECTION; the message would repeat addresses. */
const codeOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z]\w{0,30}$/.test(code) ? code : 'unknown';
};
