/**
 * Finds out when an address works again, and with checks also when it does not. An address that fails is probed without a
 * request of a caller, so the end of an outage is noticed within the longest pause whatever callers send.
 */
import type { Address } from './address.ts';
import { endPause, isFailing, nextPauseMs, noteCheck } from './address-health.ts';
import { type Probe, probeAddress } from './probe-address.ts';

/** Active checks. Times in milliseconds. */
export type CheckPolicy = {
  path: string;
  intervalMs: number;
  timeoutMs: number;
  healthyAfter: number;
  unhealthyAfter: number;
};

export type WatchDeps = {
  address: Address;
  /** Undefined: no active checks. */
  check: CheckPolicy | undefined;
  failuresMax: number;
  pauseMsMax: number;
  /** Called when the state of the address may have changed. */
  changed: (address: Address) => void;
};

export type AddressWatch = {
  /** The address fails: probes it until it works. */
  probe(): void;
  close(): void;
};

/** Of a probe without checks. A service that needs longer to accept a connection or to answer HEAD is left out. */
const probeTimeoutMs = 2_000;

export const watchAddress = ({ address, check, failuresMax, pauseMsMax, changed }: WatchDeps): AddressWatch => {
  const { health } = address;
  const closed = new AbortController();
  let pauseTimer: NodeJS.Timeout | undefined;
  let checkTimer: NodeJS.Timeout | undefined;
  let isProbing = false;

  const probeUntilBack = async (): Promise<void> => {
    const kind = health.failedUnsent ? 'connect' : 'answer';
    const how: Probe = check === undefined ? { kind } : { kind: 'check', path: check.path };
    const works = await probeAddress(address, how, check?.timeoutMs ?? probeTimeoutMs, closed.signal);
    if (closed.signal.aborted) return;
    if (!works && isFailing(health, failuresMax)) return wait();
    isProbing = false;
    end();
  };

  const end = (): void => {
    if (!isFailing(health, failuresMax)) return;
    endPause(health, failuresMax);
    changed(address);
  };

  const wait = (): void => {
    pauseTimer = setTimeout(probeUntilBack, nextPauseMs(health, pauseMsMax)).unref();
  };

  const runCheck = async ({ path, intervalMs, timeoutMs, ...thresholds }: CheckPolicy): Promise<void> => {
    const isHealthy = await probeAddress(address, { kind: 'check', path }, timeoutMs, closed.signal);
    if (closed.signal.aborted) return;
    if (isHealthy) end();
    noteCheck(health, isHealthy, thresholds);
    changed(address);
    checkTimer = setTimeout(runCheck, intervalMs, { path, intervalMs, timeoutMs, ...thresholds }).unref();
  };

  if (check !== undefined) void runCheck(check);
  return {
    probe: () => {
      if (isProbing || closed.signal.aborted) return;
      isProbing = true;
      wait();
    },
    close: () => {
      closed.abort();
      clearTimeout(pauseTimer);
      clearTimeout(checkTimer);
    },
  };
};
