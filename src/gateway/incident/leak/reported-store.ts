/** Leak reports that ended a credential, for notices. Along audit_events_action. */
import { type Kysely, sql } from 'kysely';

/** `event`: id in the audit. `tenant`: of an API key. `client`: whose secret or token it was. `credential`: its id. */
export type ReportedLeak = {
  event: string;
  at: Date;
  tenant: string | null;
  client: string | null;
  credential: string;
};

/** Of the details as text: a cast fails as a whole for one row that is no JSON, which a writer of the tables may have stored. */
const ended = '%"ended":true%';

/** The newest first. */
export const listReportedLeaks = async (
  db: Kysely<unknown>,
  since: Date,
  { limit, skip }: { limit: number; skip: number },
): Promise<ReportedLeak[]> => {
  const { rows } = await sql<ReportedLeak>`
    select concat(chain, '-', seq) as event, at, client_id as client,
      case when client_id is null then tenants[1] end as tenant, coalesce(credential_id, token_id) as credential
    from gateway.audit_events
    where action = 'leak.reported' and at > ${since} and details like ${ended}
    order by at desc, chain, seq limit ${limit} offset ${skip}`.execute(db);
  return rows;
};
