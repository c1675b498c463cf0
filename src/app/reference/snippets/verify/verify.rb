require 'openssl'

# `headers` with lower-case names, `body` exactly as it came (request.body.read), before anything parses it.
def verify(secret, headers, body, now = Time.now.to_f)
  id = headers['webhook-id'].to_s
  timestamp = headers['webhook-timestamp'].to_s
  return false if id.empty? || !timestamp.match?(/\A\d+\z/) || (now - timestamp.to_i).abs > 300

  key = secret.start_with?('whsec_') ? secret[6..].unpack1('m') : secret
  digest = OpenSSL::HMAC.digest('SHA256', key, "#{id}.#{timestamp}.".b + body.b)
  expected = "v1,#{[digest].pack('m0')}"
  headers['webhook-signature'].to_s.split.any? { |given| OpenSSL.secure_compare(expected, given) }
end
