import { test } from 'vitest';
import { until } from '../../support/until.ts';
import { runFailover } from './failover-story.ts';

test('A-274 while orders are written the primary is fenced and the standby promoted: the program goes on, no acknowledged order is lost, none is doubled, and a revoked key is refused', () =>
  runFailover(async ({ primary }) => {
    await primary.fence();
    const connected = `select 1 from pg_stat_activity where application_name = 'orderpass-all'`;
    await until(async () => (await primary.query(connected)).length === 0);
  }));
