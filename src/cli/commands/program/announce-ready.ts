/**
 * The message to systemd that the start has finished (sd_notify(3)): a unit with `Type=notify` is started only then. Node has
 * no sockets of that kind, so `systemd-notify` sends it, which is part of systemd.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '#src/platform/log.ts';

/** chosen: systemd takes a message within milliseconds. */
const sendMs = 10_000;

/** `socket`: where systemd waits, if it does. Never rejects. */
export const announceReady = async (socket: string | undefined, log: Logger): Promise<void> => {
  if (socket === undefined) return;
  try {
    await promisify(execFile)('systemd-notify', ['--ready'], { env: { NOTIFY_SOCKET: socket }, timeout: sendMs });
  } catch (error) {
    log.error({ err: error }, 'systemd-notify failed, so systemd goes on waiting for the start of this program');
  }
};
