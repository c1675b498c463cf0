/** What users may be notified of. Pure. */
import type { Role } from '../accounts/role.ts';

export const noticeKinds = ['endpoint_disabled', 'key_ending', 'refusals', 'audit_broken'] as const;
export type NoticeKind = (typeof noticeKinds)[number];
export const isNoticeKind = (value: string): value is NoticeKind => noticeKinds.some((kind) => kind === value);

/** Something that happened. */
export type Found = {
  /** The same for the same happening, and different for the next one of its kind. */
  key: string;
  /** The tenant that it concerns; undefined: the installation. */
  tenant: string | undefined;
  /** Shown as lines of the notice. Must not contain secrets. */
  facts: Readonly<Record<string, string>>;
};

/** Finds what happened lately. A happening may be found again and again. */
export type NoticeSources = Readonly<Record<NoticeKind, (now: Date) => Promise<readonly Found[]>>>;

/** Roles that see every tenant, by what they work on. Users who are bound to the tenant get its notices too. */
const rolesOf: Readonly<Record<NoticeKind, readonly Role[]>> = {
  endpoint_disabled: ['support', 'admin'],
  key_ending: ['support', 'admin'],
  refusals: ['security', 'admin'],
  audit_broken: ['security', 'admin'],
};

/** Notices of a tenant go to owners as well. */
const isAboutTenant = (kind: NoticeKind): boolean => kind === 'endpoint_disabled' || kind === 'key_ending';

export const mayGet = (role: Role, kind: NoticeKind): boolean =>
  rolesOf[kind].includes(role) || (role === 'owner' && isAboutTenant(kind));

export const wideRoles = (kind: NoticeKind): readonly Role[] => rolesOf[kind];
