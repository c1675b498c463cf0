/** From what was sent of an element to all of its members, and what that changes. Pure. */
import { canonicalJson } from '#src/platform/http/json.ts';
import type { Members } from '../elements/members.ts';
import type { FieldChange, Findings } from '../report/report.ts';

type Sent<T> = { pointer: string; index: number; extId: string; given: Partial<T>; faulty: ReadonlySet<keyof T> };

/**
 * `kept`: the present members of an element whose left-out members stay (merge); without it they fall to their default,
 * and a required one is REQUIRED.
 */
export const resolveMembers = <T extends { position: number }>(
  members: Members<T>,
  sent: Sent<T>,
  kept: T | undefined,
  findings: Findings,
): T => {
  const full: Partial<T> = {};
  for (const key of Object.keys(members) as (keyof T)[]) {
    const member = members[key];
    const given = sent.given[key];
    if (given !== undefined) full[key] = given;
    else if (kept !== undefined) full[key] = kept[key];
    else if (key === 'position') full[key] = sent.index as T[typeof key];
    else {
      full[key] = member.fallback as T[typeof key];
      if (member.fallback === undefined && !sent.faulty.has(key))
        findings.error(`${sent.pointer}/${member.field}`, sent.extId, 'REQUIRED', 'is required');
    }
  }
  // Complete but for members that a finding names, and then nothing of it is ever stored.
  return full as T;
};

/** What differs, in the form of the report. */
export const changesOf = <T>(members: Members<T>, before: T, after: T): FieldChange[] => {
  const changes: FieldChange[] = [];
  for (const key of Object.keys(members) as (keyof T)[]) {
    if (isSame(before[key], after[key])) continue;
    const { field, show = (value: T[typeof key]): unknown => value } = members[key];
    changes.push({ field, from: show(before[key]), to: show(after[key]) });
  }
  return changes;
};

export const isSame = (left: unknown, right: unknown): boolean =>
  left === right ||
  (typeof left === 'object' && typeof right === 'object' && canonicalJson(left) === canonicalJson(right));
