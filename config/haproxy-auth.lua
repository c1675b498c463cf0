-- Asks Orderpass about each request: `http-request lua.orderpass http://ADDRESS/auth/check` (config/haproxy-auth.cfg).
-- 200 lets the request pass with the identity of its caller. Every other answer is passed on to the client.

local timeout_ms = 5000

-- Fields of this connection, of the body, which stays here, and fields by which a proxy names the request.
local left_out = {
  ["connection"] = true,
  ["content-length"] = true,
  ["expect"] = true,
  ["host"] = true,
  ["keep-alive"] = true,
  ["proxy-connection"] = true,
  ["te"] = true,
  ["trailer"] = true,
  ["transfer-encoding"] = true,
  ["upgrade"] = true,
  ["x-forwarded-for"] = true,
  ["x-forwarded-host"] = true,
  ["x-forwarded-method"] = true,
  ["x-forwarded-uri"] = true,
  ["x-original-method"] = true,
  ["x-original-refused"] = true,
  ["x-original-uri"] = true,
}

local identity = {
  "x-orderpass-kind",
  "x-orderpass-id",
  "x-orderpass-client",
  "x-orderpass-tenants",
  "x-orderpass-tenants-total",
  "x-orderpass-scopes",
  "x-orderpass-assertion",
  "x-orderpass-token",
}

-- Lists of HAProxy begin at 0 or at 1, depending on the function.
local function all(values)
  local list = {}
  for _, value in pairs(values or {}) do
    list[#list + 1] = value
  end
  return list
end

local function question(txn)
  local given = txn.http:req_get_headers()
  local headers = {}
  for name, values in pairs(given) do
    if not left_out[name] then
      headers[name] = all(values)
    end
  end
  headers["x-forwarded-method"] = { txn.f:method() }
  headers["x-forwarded-uri"] = { txn.f:pathq() }
  if given["host"] then
    headers["x-forwarded-host"] = all(given["host"])
  end
  -- ORDERPASS_TRUSTED_PROXY_HOPS=1 makes Orderpass count failures for the last of these addresses.
  local addresses = all(given["x-forwarded-for"])
  addresses[#addresses + 1] = txn.f:src()
  headers["x-forwarded-for"] = { table.concat(addresses, ", ") }
  return headers
end

local function refuse(txn, answer)
  local reply = txn:reply()
  if type(answer.status) ~= "number" or answer.status < 300 then
    reply:set_status(503)
    reply:add_header("retry-after", "1")
    txn:done(reply)
    return
  end
  reply:set_status(answer.status, answer.reason)
  for name, values in pairs(answer.headers or {}) do
    if name ~= "connection" and name ~= "content-length" and name ~= "transfer-encoding" then
      for _, value in pairs(values) do
        reply:add_header(name, value)
      end
    end
  end
  if txn.f:method() ~= "HEAD" then
    reply:set_body(answer.body or "")
  end
  txn:done(reply)
end

core.register_action("orderpass", { "http-req" }, function(txn, address)
  local answer = core.httpclient():get({ url = address, headers = question(txn), timeout = timeout_ms })
  if answer == nil or answer.status ~= 200 then
    refuse(txn, answer or {})
    return
  end
  for _, name in ipairs(identity) do
    local value = all(answer.headers[name])[1]
    if value then
      txn.http:req_set_header(name, value)
    end
  end
end, 1)
