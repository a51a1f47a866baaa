"""The dictionary that header blocks of SPDY/3 are compressed with: common words with their lengths, then plain text.

Data of the protocol's third draft (draft-mbelshe-httpbis-spdy-00, 2.6.10.1).
"""

from __future__ import annotations

_WORDS = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|accept-rang"
    "es|age|allow|authorization|cache-control|connection|content-base|content-encoding|content-language|c"
    "ontent-length|content-location|content-md5|content-range|content-type|date|etag|expect|expires|from|"
    "host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|location|ma"
    "x-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|retry-after|server|te|trailer"
    "|transfer-encoding|upgrade|user-agent|vary|via|warning|www-authenticate|method|get|status|200 OK|ver"
    "sion|HTTP/1.1|url|public|set-cookie|keep-alive|origin"
)
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Au"
    "thoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidd"
    "en404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr Ma"
    "y Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,imag"
    "e/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicpri"
    "vatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)

DICTIONARY = b"".join(len(word).to_bytes(4, "big") + word.encode() for word in _WORDS.split("|")) + _TEXT.encode()
