/** The addresses that a sum over the audit lists. */
import { type RawBuilder, sql } from 'kysely';
import { networkText } from './filter-store.ts';

const listedMax = 100;

/**
 * Two columns, `addresses` and `moreAddresses`, for a query whose relation `found` has `address` and `count`. Of each network the
 * address with most requests comes first, then the second of each: a holder of an IPv6 network can call from as many addresses as he
 * likes, and they must not displace those of others.
 */
export const listedAddresses: RawBuilder<unknown> = sql`
  array(
    select address from (
      select address, row_number() over (partition by network order by uses desc, address) as nth, uses
      from (
        select address, ${networkText(sql`address`)} as network, sum(count) as uses
        from found where address is not null group by address) each
      order by nth, uses desc, address limit ${sql.lit(listedMax)}) listed
    order by 1) as addresses,
  (select count(distinct address) > ${sql.lit(listedMax)} from found) as "moreAddresses"`;
