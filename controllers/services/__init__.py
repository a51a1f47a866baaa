"""What the loops that publish a Service's endpoints share (endpointslice, endpoints, endpointslice_mirroring).

membership      which pods belong to a Service, at which addresses and ports
trigger_times   which change of a pod or Service led to the next update
slices          EndpointSlices: their names, order of ports, and which of them the cache has yet to show
port_order      the order of ports: by hash, as the real server's objects have it
subsets         Endpoints: addresses grouped by the ports they offer
"""
